//! A report as a self-contained HTML page: metrics, plots and the hardest questions.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::plot;
use crate::rank::{self, Metric};
use crate::report::{Group, Percentiles, RetrievalReport};
use crate::retrieval::RetrievalRow;
use crate::stats;

/// Number of hardest questions listed.
const HARDEST: usize = 40;

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1c2126;--faint:#5b6670;--line:#d8dde2;--back:#fff;--card:#f6f8fa;--good:0,114,178}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ec;--faint:#9aa5af;--line:#39424b;--back:#14181c;--card:#1c2227;--good:86,180,233}}
*{box-sizing:border-box}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--back);max-width:1120px;margin:0 auto;padding:28px 20px 60px}
h1{font-size:24px;margin:0 0 4px}h2{font-size:17px;margin:34px 0 10px}h3{font-size:14px;margin:0 0 6px;color:var(--faint);font-weight:600}
p{margin:6px 0;color:var(--faint)}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(440px,1fr));gap:16px}
.card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:14px}
svg{width:100%;height:auto;display:block}svg text{font:12px system-ui,sans-serif;fill:var(--faint)}svg .grid{stroke:var(--line);stroke-width:1}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;margin:10px 0;font-size:13px}.legend i{display:inline-block;width:10px;height:10px;border-radius:50%;margin-right:6px}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums;width:100%}
th,td{padding:5px 9px;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th:first-child,td:first-child,td.words,th.words{text-align:left}td.words{white-space:normal;min-width:260px}
th{color:var(--faint);font-weight:600}small{color:var(--faint);font-size:11px}
@media(max-width:520px){.plots{grid-template-columns:1fr}}";

/// Returns the page of a run.
pub fn page(report: &RetrievalReport) -> String {
    let run = &report.run;
    let mut html = String::new();
    let title = format!("Retrieval on {}", escape(&run.set));
    let _ = write!(
        html,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width,initial-scale=1\"><title>{title}</title><style>{STYLE}</style></head><body>\n\
         <h1>{title}</h1>\n<p>{} questions, {}. Workspace {}, graph of revision {}; embedder {}, extraction by {}, \
         keywords by {}, reranker {}. Graphloom {}, set {}.</p>\n",
        run.questions,
        match run.passages {
            0 => "of the documents of a workspace".to_owned(),
            passages => format!("{passages} passages"),
        },
        escape(&run.workspace),
        run.graph_revision,
        escape(&run.embedder),
        escape(&run.extractor),
        escape(&run.keywords),
        escape(&run.reranker),
        escape(&run.release),
        run.set_hash,
    );
    let failed = report.failed();
    if failed > 0 {
        let _ = writeln!(html, "<p><b>{failed} questions failed and count as misses.</b></p>");
    }
    figures(&mut html, report);
    plots(&mut html, report);
    by_kind(&mut html, report);
    hardest(&mut html, report);
    html.push_str("</body></html>\n");
    html
}

fn figures(html: &mut String, report: &RetrievalReport) {
    html.push_str("<h2>Figures</h2>\n<p>Means over the questions, with their 95% bootstrap intervals.</p>\n<div class=\"wide\"><table><tr><th></th>");
    let groups: Vec<&Group> = report.overall().collect();
    for group in &groups {
        let _ = write!(html, "<th>{}</th>", escape(&group.arm));
    }
    html.push_str("</tr>\n");
    let mut row = |label: &str, cell: &dyn Fn(&Group) -> String| {
        let _ = write!(html, "<tr><td>{}</td>", escape(label));
        for group in &groups {
            let _ = write!(html, "<td>{}</td>", cell(group));
        }
        html.push_str("</tr>\n");
    };
    for metric in report.metrics() {
        row(&metric.to_string(), &|group| {
            let value = group.metric(metric).unwrap_or_else(|| stats::estimate(&[]));
            format!("{:.3} <small>{:.3}–{:.3}</small>", value.mean, value.low, value.high)
        });
    }
    let times = |times: Percentiles| {
        format!("{} / {} / {}", plot::ms(times.p50), plot::ms(times.p90), plot::ms(times.p99))
    };
    row("latency, p50 / p90 / p99 ms", &|group| times(group.latency_ms));
    row("without models", &|group| times(group.own_latency_ms));
    row("passages", &|group| format!("{:.1}", group.returned));
    row("context tokens", &|group| format!("{:.0}", group.context_tokens));
    row("model calls", &|group| format!("{:.2}", group.calls));
    html.push_str("</table></div>\n");
}

fn plots(html: &mut String, report: &RetrievalReport) {
    let groups: Vec<&Group> = report.overall().collect();
    let none = || stats::estimate(&[]);
    let value = |group: &Group, metric: Metric| group.metric(metric).unwrap_or_else(none);
    html.push_str("<h2>Plots</h2>\n<div class=\"legend\">");
    for (arm, group) in groups.iter().enumerate() {
        let _ = write!(
            html,
            "<span><i style=\"background:{}\"></i>{}</span>",
            plot::color(arm),
            escape(&group.arm)
        );
    }
    html.push_str("</div>\n<div class=\"plots\">\n");
    for (label, metric) in [
        ("Recall: share of the needed passages among the first k", Metric::Recall as fn(usize) -> Metric),
        ("All gold: share of questions with all needed passages among the first k", Metric::AllGold),
    ] {
        let arms: Vec<(&str, Vec<_>)> = groups
            .iter()
            .map(|group| (group.arm.as_str(), report.ks.iter().map(|k| value(group, metric(*k))).collect()))
            .collect();
        card(html, label, &plot::lines(label, &report.ks, &arms));
    }
    let deepest = report.ks.last().copied().unwrap_or(1);
    for (label, metric) in [
        ("MRR: 1 / rank of the first needed passage".to_owned(), Metric::Mrr),
        (format!("nDCG@{deepest}"), Metric::Ndcg(deepest)),
    ] {
        let arms: Vec<(&str, _)> =
            groups.iter().map(|group| (group.arm.as_str(), value(group, metric))).collect();
        card(html, &label, &plot::intervals(&label, &arms));
    }
    for (label, without_models) in
        [("Latency: p50, p90, p99", false), ("Latency without the time of models: p50, p90, p99", true)]
    {
        let times = |group: &Group| {
            let times = if without_models { group.own_latency_ms } else { group.latency_ms };
            [times.p50, times.p90, times.p99]
        };
        let arms: Vec<(&str, [f64; 3])> =
            groups.iter().map(|group| (group.arm.as_str(), times(group))).collect();
        card(html, label, &plot::times(label, &arms));
    }
    html.push_str("</div>\n");
}

fn card(html: &mut String, label: &str, svg: &str) {
    let _ = writeln!(html, "<div class=\"card\"><h3>{}</h3>{svg}</div>", escape(label));
}

fn by_kind(html: &mut String, report: &RetrievalReport) {
    let kinds = report.kinds();
    if kinds.is_empty() {
        return;
    }
    let metric = Metric::Recall(report.main_k());
    let _ = write!(
        html,
        "<h2>By type of question</h2>\n<p>{metric}, with its interval.</p>\n<div class=\"wide\"><table><tr><th>type</th><th>questions</th>"
    );
    for arm in &report.arms {
        let _ = write!(html, "<th>{}</th>", escape(&arm.name));
    }
    html.push_str("</tr>\n");
    for kind in kinds {
        let of_kind = |arm: &str| report.group(arm, Some(kind));
        let questions =
            report.arms.first().and_then(|arm| of_kind(&arm.name)).map_or(0, |group| group.questions);
        let name = if kind.is_empty() { "(none)".to_owned() } else { escape(kind) };
        let _ = write!(html, "<tr><td>{name}</td><td>{questions}</td>");
        for arm in &report.arms {
            match of_kind(&arm.name).and_then(|group| group.metric(metric)) {
                Some(value) => {
                    let _ = write!(
                        html,
                        "<td style=\"background:rgba(var(--good),{:.2})\">{:.3}<br><small>{:.3}–{:.3}</small></td>",
                        0.45 * value.mean * value.mean,
                        value.mean,
                        value.low,
                        value.high
                    );
                }
                None => html.push_str("<td>-</td>"),
            }
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</table></div>\n");
}

/// Writes the table of the questions for which the arms found the fewest gold passages, with the ranks of these.
fn hardest(html: &mut String, report: &RetrievalReport) {
    let first = report.arms.first().map_or("", |arm| arm.name.as_str());
    let rows: BTreeMap<(&str, &str), &RetrievalRow> =
        report.rows.iter().map(|row| ((row.arm.as_str(), row.id.as_str()), row)).collect();
    let of = |arm: &str, id: &str| rows.get(&(arm, id)).copied();
    let metric = Metric::Ndcg(report.ks.last().copied().unwrap_or(1));
    let mut questions: Vec<(f64, &RetrievalRow)> = Vec::new();
    for row in report.rows.iter().filter(|row| row.arm == first) {
        let rows = report.arms.iter().filter_map(|arm| of(&arm.name, &row.id));
        questions.push((rows.map(|row| metric.value(&row.ranked, &row.gold)).sum(), row));
    }
    questions.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.id.cmp(&b.1.id)));
    let shown = questions.len().min(HARDEST);
    let _ = write!(
        html,
        "<h2>Hardest questions</h2>\n<p>The {shown} questions for which the arms found least. For each arm, the ranks of the \
         needed passages; – is not found.</p>\n<div class=\"wide\"><table><tr><th class=\"words\">question</th>"
    );
    for arm in &report.arms {
        let _ = write!(html, "<th>{}</th>", escape(&arm.name));
    }
    html.push_str("</tr>\n");
    for (_, row) in questions.into_iter().take(HARDEST) {
        let kind = if row.kind.is_empty() { String::new() } else { format!(", {}", escape(&row.kind)) };
        let _ = write!(
            html,
            "<tr><td class=\"words\">{}<br><small>{}{kind}</small></td>",
            escape(&row.question),
            escape(&row.id)
        );
        for arm in &report.arms {
            let _ = write!(
                html,
                "<td>{}</td>",
                of(&arm.name, &row.id).map_or_else(|| "-".to_owned(), ranks_cell)
            );
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</table></div>\n");
}

fn ranks_cell(row: &RetrievalRow) -> String {
    if row.failed.is_some() {
        return "failed".to_owned();
    }
    let ranks = rank::ranks(&row.ranked, &row.gold);
    ranks
        .iter()
        .map(|rank| rank.map_or_else(|| "–".to_owned(), |rank| rank.to_string()))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Escapes text for HTML content and attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if c.is_control() && c != '\n' && c != '\t' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use crate::report::tests::{report, row};

    use super::*;

    #[test]
    fn the_page_loads_nothing_and_escapes_all_text() {
        let mut strange = row("mix", "q1", "<b>", "x", "x y");
        strange.question = "Who is <script>alert(1)</script> & co?".to_owned();
        let mut same = strange.clone();
        same.arm = "naive".to_owned();
        let page = page(&report(vec![
            same,
            strange,
            row("naive", "q2", "b", "", "x"),
            row("mix", "q2", "b", "x", "x"),
        ]));
        assert!(!page.contains("<script") && !page.contains("http") && !page.contains("url("), "{page}");
        assert!(page.contains("Who is &lt;script&gt;") && page.contains("&lt;b&gt;"));
        for tag in ["svg", "table", "div", "g"] {
            let opened =
                page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
        }
    }
}
