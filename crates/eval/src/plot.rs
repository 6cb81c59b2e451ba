//! Plots as SVG: lines over ranks, points with intervals, and times on a logarithmic axis.

use std::fmt::Write;

use crate::html::escape;
use crate::stats::Estimate;

/// Colors that color-blind people can distinguish; further arms reuse them with another dash pattern.
///
/// Source: Okabe, Ito, "Color universal design", 2008, without yellow and black.
const COLORS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const DASHES: [&str; 3] = ["none", "6 3", "2 3"];

const WIDTH: f64 = 640.0;
const LEFT: f64 = 48.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 12.0;

/// Returns the color of an arm.
pub(crate) fn color(arm: usize) -> &'static str {
    COLORS[arm % COLORS.len()]
}

fn dash(arm: usize) -> &'static str {
    DASHES[arm / COLORS.len() % DASHES.len()]
}

/// Plots a line per arm over the ranks, with intervals at the points. Values are shares.
pub(crate) fn lines(label: &str, ks: &[usize], arms: &[(&str, Vec<Estimate>)]) -> String {
    let (height, bottom) = (300.0, 36.0);
    let plot_height = height - TOP - bottom;
    let step = (WIDTH - LEFT - RIGHT) / ks.len().max(1) as f64;
    let x = |at: usize| LEFT + step * (at as f64 + 0.5);
    let y = |value: f64| TOP + plot_height * (1.0 - value.clamp(0.0, 1.0));
    let mut svg = open(height, label);
    for tenth in (0..=10).step_by(2) {
        let value = f64::from(tenth) / 10.0;
        grid_line(&mut svg, y(value), &format!("{value:.1}"));
    }
    for (at, k) in ks.iter().enumerate() {
        text(&mut svg, x(at), height - 16.0, "middle", &format!("@{k}"));
    }
    for (arm, (name, values)) in arms.iter().enumerate() {
        let (color, dash) = (color(arm), dash(arm));
        // Shifted sideways so that intervals do not overlap.
        let shift =
            (arm as f64 - (arms.len() as f64 - 1.0) / 2.0) * (step * 0.5 / arms.len() as f64).min(9.0);
        let points: Vec<String> = values
            .iter()
            .enumerate()
            .map(|(at, value)| format!("{:.1},{:.1}", x(at) + shift, y(value.mean)))
            .collect();
        let _ = write!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"/>",
            points.join(" ")
        );
        for (at, value) in values.iter().enumerate() {
            let (x, tooltip) =
                (x(at) + shift, tooltip(name, &format!("@{}", ks.get(at).copied().unwrap_or(0)), *value));
            let _ = write!(
                svg,
                "<g><title>{tooltip}</title><line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"{color}\" \
                 stroke-opacity=\".55\" stroke-width=\"2\"/><circle cx=\"{x:.1}\" cy=\"{:.1}\" r=\"4\" fill=\"{color}\"/></g>",
                y(value.low),
                y(value.high),
                y(value.mean)
            );
        }
    }
    close(svg)
}

/// Plots a row per arm, with its value as a point and its interval as a line. Values are shares.
pub(crate) fn intervals(label: &str, arms: &[(&str, Estimate)]) -> String {
    let row = 26.0;
    let height = TOP + row * arms.len() as f64 + 30.0;
    let left = 130.0;
    let x = |value: f64| left + (WIDTH - left - RIGHT - 46.0) * value.clamp(0.0, 1.0);
    let mut svg = open(height, label);
    for tenth in (0..=10).step_by(2) {
        let at = x(f64::from(tenth) / 10.0);
        let end = height - 28.0;
        let _ =
            write!(svg, "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{end:.1}\" class=\"grid\"/>");
        text(&mut svg, at, height - 12.0, "middle", &format!("{:.1}", f64::from(tenth) / 10.0));
    }
    for (arm, (name, value)) in arms.iter().enumerate() {
        let (y, color) = (TOP + row * (arm as f64 + 0.5), color(arm));
        text(&mut svg, left - 12.0, y + 4.0, "end", &shortened(name));
        let _ = write!(
            svg,
            "<g><title>{}</title><line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"{color}\" \
             stroke-opacity=\".55\" stroke-width=\"3\"/><circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{color}\"/></g>",
            tooltip(name, label, *value),
            x(value.low),
            x(value.high),
            x(value.mean)
        );
        text(&mut svg, WIDTH - RIGHT, y + 4.0, "end", &format!("{:.3}", value.mean));
    }
    close(svg)
}

/// Plots a row per arm with times in milliseconds on a logarithmic axis.
///
/// - `times`: p50, p90 and p99.
pub(crate) fn times(label: &str, arms: &[(&str, [f64; 3])]) -> String {
    let row = 26.0;
    let height = TOP + row * arms.len() as f64 + 30.0;
    let left = 130.0;
    // Times below the clock's resolution are drawn at a hundredth of a millisecond.
    let log = |ms: f64| ms.max(0.01).log10();
    let all = || arms.iter().flat_map(|(_, times)| times).map(|ms| log(*ms));
    let least = all().fold(f64::MAX, f64::min).min(3.0).floor();
    let most = all().fold(f64::MIN, f64::max).ceil().max(least + 1.0);
    let x = |ms: f64| {
        left + (WIDTH - left - RIGHT - 120.0) * ((log(ms) - least) / (most - least)).clamp(0.0, 1.0)
    };
    let mut svg = open(height, label);
    let (mut decade, last) = (least as i32, most as i32);
    while decade <= last {
        let edge = 10_f64.powi(decade);
        let (at, end) = (x(edge), height - 28.0);
        let _ =
            write!(svg, "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{end:.1}\" class=\"grid\"/>");
        text(&mut svg, at, height - 12.0, "middle", &format!("{edge} ms"));
        decade += 1;
    }
    for (arm, (name, [p50, p90, p99])) in arms.iter().enumerate() {
        let (y, color) = (TOP + row * (arm as f64 + 0.5), color(arm));
        text(&mut svg, left - 12.0, y + 4.0, "end", &shortened(name));
        let _ = write!(
            svg,
            "<g><title>{}: p50 {p50:.2} ms, p90 {p90:.2} ms, p99 {p99:.2} ms</title><line x1=\"{:.1}\" x2=\"{:.1}\" \
             y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"{color}\" stroke-opacity=\".55\" stroke-width=\"3\"/>",
            escape(name),
            x(*p50),
            x(*p99)
        );
        for (time, radius) in [(p50, 5.0), (p90, 3.5), (p99, 3.5)] {
            let _ =
                write!(svg, "<circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{color}\"/>", x(*time));
        }
        svg.push_str("</g>");
        text(&mut svg, WIDTH - RIGHT, y + 4.0, "end", &format!("{} / {}", ms(*p50), ms(*p99)));
    }
    close(svg)
}

/// Formats milliseconds with a suitable number of digits.
pub(crate) fn ms(ms: f64) -> String {
    if ms >= 100.0 {
        format!("{ms:.0}")
    } else if ms >= 10.0 {
        format!("{ms:.1}")
    } else {
        format!("{ms:.2}")
    }
}

fn tooltip(name: &str, what: &str, value: Estimate) -> String {
    format!("{} {}: {:.3} ({:.3} to {:.3})", escape(name), escape(what), value.mean, value.low, value.high)
}

/// Shortens a name to fit beside a row.
fn shortened(name: &str) -> String {
    const MOST: usize = 16;
    match name.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

fn open(height: f64, label: &str) -> String {
    format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">", escape(label))
}

fn close(mut svg: String) -> String {
    svg.push_str("</svg>");
    svg
}

fn grid_line(svg: &mut String, y: f64, label: &str) {
    let end = WIDTH - RIGHT;
    let _ = write!(svg, "<line x1=\"{LEFT}\" x2=\"{end}\" y1=\"{y:.1}\" y2=\"{y:.1}\" class=\"grid\"/>");
    text(svg, LEFT - 8.0, y + 4.0, "end", label);
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, words: &str) {
    let _ = write!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", escape(words));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_many_arms_are_distinguishable() {
        let value = Estimate { mean: 0.5, low: 0.4, high: 0.6 };
        let svg = intervals("a<b", &[("<script>", value)]);
        assert!(svg.contains("&lt;script&gt;") && !svg.contains("<script>"), "{svg}");
        assert_ne!((color(0), dash(0)), (color(6), dash(6)));
    }

    #[test]
    fn times_of_zero_and_of_hours_are_drawn_without_invalid_numbers() {
        for arms in [vec![], vec![("a", [0.0, 0.0, 0.0])], vec![("a", [1.0, 5.0, 4e6])]] {
            let svg = times("latency", &arms);
            assert!(svg.ends_with("</svg>") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
