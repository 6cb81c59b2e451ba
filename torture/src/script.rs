//! Prints a history as a readable, executable shell script.

use std::fmt::Write;

use crate::edit;
use crate::history::{By, History, Read, Step, Via, Victim, What};
use crate::provider;
use crate::report::Finding;
use crate::text::{self, NAMES};

/// Maximum lines of each finding in the header.
const MAX_LINES: usize = 12;

/// The script. The variables `GRAPHLOOM` and `TORTURE` name the programs.
pub(crate) fn script(history: &History, findings: &[Finding]) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "#!/usr/bin/env bash");
    let _ = writeln!(
        out,
        "# {} with seed {}: {} steps. It showed:",
        history.name,
        history.seed,
        history.steps.len()
    );
    for finding in findings {
        for (number, line) in finding.what.lines().take(MAX_LINES).enumerate() {
            let kind = if number == 0 { format!("{:?}: ", finding.kind) } else { "    ".to_owned() };
            let _ = writeln!(out, "#   {kind}{line}");
        }
    }
    out.push_str(HEAD);
    let settings = &history.settings;
    let _ = writeln!(out, "SHAPE=({} {})", settings.shape.passages, settings.shape.things);
    if let Some(ms) = settings.model_ms {
        let _ = writeln!(out, "model {ms}");
        if settings.remote_vectors {
            let _ = writeln!(out, "export GRAPHLOOM_EMBEDDER=openai:scripted-vectors");
        }
    }
    if settings.anchor {
        let _ = writeln!(out, "text {} 0 && \"$GRAPHLOOM\" add {}\n", text::ANCHOR, text::file(text::ANCHOR));
    }
    for lane in history.lanes() {
        let _ = writeln!(out, "lane_{lane}() {{");
        for step in history.steps.iter().filter(|step| step.lane == lane) {
            if step.after_ms > 0 {
                let _ = writeln!(out, "    sleep {}.{:03}", step.after_ms / 1000, step.after_ms % 1000);
            }
            for line in lines(history, step) {
                let _ = writeln!(out, "    {line}");
            }
        }
        let _ = writeln!(out, "}}\n");
    }
    let lanes: Vec<String> =
        history.lanes().iter().map(|lane| format!("lane_{lane} & LANES+=($!)")).collect();
    let _ = writeln!(out, "LANES=()\n{}\nwait \"${{LANES[@]}}\"", lanes.join("\n"));
    out.push_str(TAIL);
    out
}

const HEAD: &str = r#"#
# GRAPHLOOM is the program, TORTURE the suite's own (for texts, faults and the model). The suite itself repeats the
# history with all comparisons: graphloom-torture --replay history.json
set -uo pipefail
GRAPHLOOM=$(realpath "${GRAPHLOOM:-target/debug/graphloom}")
TORTURE=$(realpath "${TORTURE:-target/debug/graphloom-torture}")
FOLDER=$(mktemp -d) && cd "$FOLDER" && mkdir home meet && echo "in $FOLDER"
export HOME=$FOLDER/home GRAPHLOOM_GLEANING=0 GRAPHLOOM_CHUNK_TOKENS=300 GRAPHLOOM_CHUNK_OVERLAP=0
export GRAPHLOOM_FIRST_BYTE_TIMEOUT_S=10 GRAPHLOOM_IDLE_TIMEOUT_S=10 GRAPHLOOM_MAX_PAUSE_S=20
"$TORTURE" tool shim . || exit 2
export TORTURE_CONTROL=$FOLDER/control
trap 'kill $(cat *.pid 2>/dev/null) $(jobs -p) 2>/dev/null' EXIT

model() { "$TORTURE" tool model --ms "$1" > model.url & echo $! > model.pid
          until [ -s model.url ]; do sleep 0.1; done
          export GRAPHLOOM_LLM=openai:scripted GRAPHLOOM_BASE_URL=$(cat model.url); }
text() { "$TORTURE" tool text "$1" "$2" "${SHAPE[@]}" > "s$1.md"; }
# Runs the program with the faults; the first argument is the number of the step.
run() { TORTURE_TAG=$1 LD_PRELOAD=$FOLDER/faults.so "$GRAPHLOOM" "${@:2}" > "$1.out" 2> "$1.err" & echo $! > "$1.pid"
        wait $!; local code=$?; echo "step $1: graphloom ${*:2}: $code"; cat "$1.err"; return $code; }
background() { TORTURE_TAG=$1 LD_PRELOAD=$FOLDER/faults.so "$GRAPHLOOM" "${@:2}" > "$1.out" 2> "$1.err" & echo $! > "$1.pid"; }
serve() { [ -f "server$2.pid" ] && kill -0 "$(cat "server$2.pid")" 2>/dev/null && return
          background "$1" --json serve --port 0; mv "$1.pid" "server$2.pid"
          for _ in $(seq 100); do sed -n 's/.*"url":"\([^"]*\)".*/\1/p' "$1.out" > "server$2.url"; [ -s "server$2.url" ] && return; sleep 0.1; done; }
request() { curl -sS -X "$2" -H 'content-type: application/json' "$(cat "server$1.url")$3" -d "${4:-{\}}" -w ' %{http_code}\n'; }
put() { request "$1" POST /documents/text "$("$TORTURE" tool text "$2" "$3" "${SHAPE[@]}" | jq -Rs "{text: ., file_source: \"s$2.md\", replace: true}")"; }
delete() { request "$1" DELETE /documents/delete_document "$(request "$1" POST /documents/paginated '{"page":1,"page_size":200}' | sed 's/ [0-9]*$//' | jq -c "{doc_ids: [.documents[] | select(.file_path == \"s$2.md\") | .id]}")"; }
fault() { "$TORTURE" tool fault "$TORTURE_CONTROL" "$@"; }
# Waits until so many lanes have come.
meet() { touch "meet/$1.$2"; until [ "$(ls meet | grep -c "^$1\.")" -ge "$3" ]; do sleep 0.02; done; }
process() { ls -t [0-9]*.pid 2>/dev/null | head -1 | xargs -r cat; }

"#;

const TAIL: &str = r#"
fault heal
wait $(ls [0-9]*.pid | xargs -r cat) 2>/dev/null
kill $(cat server*.pid 2>/dev/null) 2>/dev/null; sleep 2
"$GRAPHLOOM" resume; "$GRAPHLOOM" retry --cancelled; "$GRAPHLOOM" work
"$GRAPHLOOM" check && echo "check is clean: compare the documents with those that were acknowledged"
"$GRAPHLOOM" status; "$GRAPHLOOM" dump --hash
"#;

fn lines(history: &History, step: &Step) -> Vec<String> {
    let id = step.id;
    match &step.what {
        What::Write { sources, via: Via::Server(slot), wait: _ } => {
            sources.iter().map(|source| format!("put {slot} {source} {id}")).collect()
        }
        What::Write { sources, via: Via::Cli, wait } => {
            let no_wait = if *wait { "" } else { " --no-wait" };
            // Long sequences of sources are written as a range.
            let list = match sources.as_slice() {
                [first, .., last] if sources.len() > 8 && (last - first) as usize + 1 == sources.len() => {
                    format!("$(seq {first} {last})")
                }
                _ => sources.iter().map(u32::to_string).collect::<Vec<_>>().join(" "),
            };
            vec![
                format!("for source in {list}; do text $source {id}; done"),
                format!("run {id} --json add{no_wait} $(for source in {list}; do echo s$source.md; done)"),
            ]
        }
        What::Remove { source, via: Via::Server(slot) } => vec![format!("delete {slot} {source}")],
        What::Remove { source, via: Via::Cli } => vec![format!("run {id} rm {}", text::file(*source))],
        What::Edit { edit, via: Via::Server(slot) } => {
            let (method, path, body) = edit::request(*edit, id);
            vec![format!("request {slot} {method} {path} '{body}'")]
        }
        What::Edit { edit, via: Via::Cli } => {
            let words: Vec<String> =
                edit::command(*edit, id).iter().map(|word| format!("'{word}'")).collect();
            vec![format!("run {id} {}", words.join(" "))]
        }
        What::Cancel { source: None, via: Via::Server(slot) } => {
            vec![format!("request {slot} POST /documents/cancel_pipeline")]
        }
        What::Cancel { source, via: _ } => {
            let what = source.map_or_else(|| "--all".to_owned(), text::file);
            vec![format!("run {id} cancel {what}")]
        }
        What::Renew { sources, by } => {
            let model = match by {
                By::First => provider::MODEL,
                By::Other => provider::OTHER_MODEL,
            };
            let files: Vec<String> = sources.iter().map(|source| text::file(*source)).collect();
            vec![format!("run {id} --set extract_llm=openai:{model} re-extract {}", files.join(" "))]
        }
        What::Pause => vec![format!("run {id} pause")],
        What::Resume => vec![format!("run {id} resume")],
        What::Read { read, via: _ } => vec![match read {
            Read::Ask => format!("run {id} ask --context-only 'Who works on {}?'", NAMES[0]),
            Read::Search => format!("run {id} search '{}'", NAMES[0]),
            Read::Dump => format!("run {id} dump"),
            Read::Export => format!("run {id} export"),
            Read::SlowDump(ms) => {
                format!(
                    "LD_PRELOAD=$FOLDER/faults.so \"$GRAPHLOOM\" dump | (sleep {}; cat > {id}.out) # a slow reader",
                    ms / 1000
                )
            }
            Read::SlowExport(_) => {
                "curl -sS --limit-rate 1K \"$(cat server0.url)/export\" > /dev/null # in a replay fast after a while"
                    .to_owned()
            }
        }],
        What::Work => vec![format!("background {id} --json work")],
        What::Serve { slot } => vec![format!("serve {id} {slot}")],
        What::Kill(victim) => vec![format!("kill -9 {}", process(*victim))],
        What::Stop { victim, ms } => {
            let process = process(*victim);
            vec![format!(
                "victim={process}; kill -STOP $victim; sleep {}.{:03}; kill -CONT $victim",
                ms / 1000,
                ms % 1000
            )]
        }
        What::Model { fault, calls } => {
            vec![format!("# the next {calls} calls of the model fail: {fault:?} (in a replay alone)")]
        }
        What::Disk(fault) => {
            let json = serde_json::to_string(fault).unwrap_or_default();
            vec![format!("fault arm {id} '{json}'")]
        }
        What::Heal => vec!["fault heal".to_owned()],
        What::Clock { offset_s } => vec![format!("fault clock {offset_s}")],
        What::Meet(point) => vec![format!("meet {point} {} {}", step.lane, history.meeting(*point))],
        What::Open { workspace, processes } => vec![format!(
            "opened=(); for n in $(seq {processes}); do echo \"Process $n writes.\" > open$n.md; \
             \"$GRAPHLOOM\" --workspace new{workspace} add --no-wait open$n.md & opened+=($!); done; wait \"${{opened[@]}}\""
        )],
        What::Crowd { slot, readers, ms } => vec![format!(
            "for n in $(seq {readers}); do (end=$((SECONDS + {})); while [ $SECONDS -lt $end ]; do \
             request {slot} POST /query/data '{{\"query\":\"Who works with {}?\"}}' > /dev/null; done) & done",
            ms / 1000,
            NAMES[0]
        )],
    }
}

fn process(victim: Victim) -> String {
    match victim {
        Victim::Server(slot) => format!("$(cat server{slot}.pid)"),
        Victim::Worker(_) | Victim::Command(_) => "$(process)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;

    #[test]
    fn every_lane_of_a_history_is_in_its_script() {
        let history = generate::random(11, &generate::ALL_FAULTS);
        let script = script(&history, &[]);
        for lane in history.lanes() {
            assert!(
                script.contains(&format!("lane_{lane}() {{")) && script.contains(&format!("lane_{lane} &"))
            );
        }
        assert!(script.starts_with("#!/usr/bin/env bash\n# random with seed 11"));
    }
}
