//! Splits scripts without spaces, and Korean with its particles, into possible names.

use std::collections::HashSet;
use std::ops::Range;

use super::han;
use super::languages::Language;

/// Maximum number of characters in a Japanese word.
const MAX_JAPANESE_CHARS: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Ideograph,
    Katakana,
    Hangul,
    /// Thai, Lao, Khmer, Burmese.
    SouthEastAsian,
    Other,
}

/// True if a word contains characters of a script without spaces, or of Korean, whose words carry particles.
pub(super) fn has_no_spaces(word: &str) -> bool {
    word.chars().any(|c| script(c) != Script::Other || is_hiragana(c))
}

/// A possible name in such a text.
#[derive(Debug, Clone)]
pub(super) struct Run {
    /// Its range in bytes.
    pub(super) range: Range<usize>,
    /// True if its form marks it as a name.
    pub(super) is_name: bool,
}

/// Returns the possible names in `text`, in text order: Chinese between function words and verbs, Japanese between hiragana,
/// Korean words without particles, and stretches of South-East Asian scripts.
///
/// `known` contains names found elsewhere. In Chinese they are cut out and not returned.
pub(super) fn runs(text: &str, language: Language, known: &HashSet<&str>) -> Vec<Run> {
    let mut found = Vec::new();
    for (script, range) in stretches(text, language == Language::Japanese) {
        let run = &text[range.clone()];
        let behind = &text[range.end..];
        match script {
            Script::Ideograph | Script::Katakana if language == Language::Japanese => {
                found.extend(
                    japanese(run, behind)
                        .map(|(length, is_name)| Run { range: range.start..range.start + length, is_name }),
                );
            }
            Script::Ideograph => {
                let counted = text[..range.start].ends_with(|c: char| c.is_numeric());
                found.extend(han::pieces(run, counted, known).into_iter().map(|piece| {
                    let bare = han::bare(text, &run[piece.range.clone()]);
                    let start = range.start + piece.range.start;
                    Run {
                        range: start + bare.start..start + bare.end,
                        is_name: piece.is_name && bare.len() == piece.range.len(),
                    }
                }));
            }
            Script::Hangul => found.extend(
                korean(run, behind)
                    .map(|(length, is_name)| Run { range: range.start..range.start + length, is_name }),
            ),
            Script::Katakana if run.chars().count() >= 2 => found.push(Run { range, is_name: false }),
            Script::SouthEastAsian if run.chars().count() >= 3 => found.push(Run { range, is_name: false }),
            Script::Katakana | Script::SouthEastAsian | Script::Other => {}
        }
    }
    if language == Language::Japanese { found } else { cut_at_names(text, found) }
}

/// Splits runs of Han characters that begin or end with a name that stands alone elsewhere.
fn cut_at_names(text: &str, runs: Vec<Run>) -> Vec<Run> {
    const NAME_CHARS: Range<usize> = 3..9;
    let is_name = |run: &&Run| run.is_name && NAME_CHARS.contains(&text[run.range.clone()].chars().count());
    let names: HashSet<&str> = runs.iter().filter(is_name).map(|run| &text[run.range.clone()]).collect();
    if names.is_empty() {
        return runs;
    }
    let mut cut = Vec::with_capacity(runs.len());
    for run in runs {
        let word = &text[run.range.clone()];
        let borders: Vec<usize> = word.char_indices().map(|(at, _)| at).chain([word.len()]).collect();
        let count = borders.len() - 1;
        let lengths = || NAME_CHARS.rev().filter(|&length| length < count);
        let is_long = !run.is_name && word.starts_with(is_ideograph);
        let head = lengths().find(|&length| is_long && names.contains(&word[..borders[length]]));
        let tail = lengths().find(|&length| is_long && names.contains(&word[borders[count - length]..]));
        let (name, rest) = match (head, tail) {
            (Some(length), _) => {
                (0..borders[length], (count - length >= 2).then(|| borders[length]..word.len()))
            }
            (None, Some(length)) => {
                let at = borders[count - length];
                (at..word.len(), (count - length >= 2).then_some(0..at))
            }
            (None, None) => {
                cut.push(run);
                continue;
            }
        };
        let start = run.range.start;
        cut.push(Run { range: start + name.start..start + name.end, is_name: true });
        cut.extend(rest.map(|rest| Run { range: start + rest.start..start + rest.end, is_name: false }));
    }
    cut.sort_by_key(|run| run.range.start);
    cut
}

/// Returns the stretches of one script; in Japanese, Han characters and katakana are one. A dot between two characters of a
/// stretch belongs to it, as in transcribed names.
fn stretches(text: &str, joins_katakana: bool) -> Vec<(Script, Range<usize>)> {
    let mut found: Vec<(Script, Range<usize>)> = Vec::new();
    let mut chars = text.char_indices().peekable();
    let mut before = Script::Other;
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map_or(Script::Other, |&(_, next)| script(next));
        let dotted = match c {
            '·' | '‧' | '•' => before == Script::Ideograph && next == before,
            '・' | '＝' | '゠' | '－' => before == Script::Katakana && next == before,
            _ => false,
        };
        let kind = if dotted { before } else { script(c) };
        let end = at + c.len_utf8();
        let is_word = |script| matches!(script, Script::Ideograph | Script::Katakana);
        match found.last_mut() {
            Some((_, range)) if kind == before && kind != Script::Other => range.end = end,
            Some((_, range)) if joins_katakana && is_word(kind) && is_word(before) => range.end = end,
            _ if kind != Script::Other => found.push((kind, at..end)),
            _ => {}
        }
        before = kind;
    }
    found
}

/// Returns the length in bytes of a possible name at the start of `run`, given the text after it, and whether its form marks it
/// as a name.
fn japanese(run: &str, behind: &str) -> Option<(usize, bool)> {
    const PARTICLES: [&str; 25] = [
        "は",
        "が",
        "を",
        "に",
        "で",
        "と",
        "の",
        "へ",
        "も",
        "か",
        "や",
        "まで",
        "より",
        "から",
        "など",
        "だ",
        "な",
        "さん",
        "さま",
        "くん",
        "ちゃん",
        "たち",
        "ごろ",
        "ほど",
        "ら",
    ];
    const GENERIC: &str = "監督 映画 晩年 人口 都市 北部 南部 東部 西部 中部 企業 会社 本社 従業員 顧問 代表 社長 会長 作品 出身 出身地 時代 当時 \
        現在 以降 以前 以上 以下 以外 年間 一部 全体 場合 自身 多数 最初 最後 最大 最小 世界 中心 地域 地方 場所 時間 期間 同年 翌年 前年 年代 世紀 \
        主人公 自分 彼女 一人 二人 一方 他 同 第一 第二 第三 両親 父親 母親 息子 娘 妻 夫 兄弟 姉妹 長男 次男 長女 次女 友人 教授 博士 先生 作家 \
        俳優 女優 歌手 選手 首相 大統領 大臣 市長 知事 建築家 設計者 技師 画家 詩人 学者 医師 記者 ドラマ ドラマ映画 映画監督 主演 脚本 年 月 日 \
        私 僕 君 何 誰 者 人 物 事 時 中 上 下 前 後 内 外 間 方 的 等 約 計 それぞれ ため こと もの";
    const ENDINGS: [&str; 60] = [
        "市",
        "県",
        "区",
        "町",
        "村",
        "郡",
        "府",
        "都",
        "国",
        "州",
        "島",
        "山",
        "川",
        "湖",
        "海",
        "湾",
        "港",
        "駅",
        "橋",
        "寺",
        "城",
        "神社",
        "神宮",
        "大学",
        "学院",
        "学園",
        "高校",
        "高等学校",
        "中学校",
        "小学校",
        "会社",
        "株式会社",
        "銀行",
        "病院",
        "博物館",
        "美術館",
        "図書館",
        "研究所",
        "協会",
        "学会",
        "委員会",
        "新聞",
        "新聞社",
        "放送",
        "出版",
        "書店",
        "書房",
        "工業",
        "産業",
        "鉄道",
        "電鉄",
        "自動車",
        "製作所",
        "造船",
        "紡績",
        "製鉄",
        "公園",
        "戦争",
        "条約",
        "賞",
    ];
    const SURNAMES: &str = "佐藤 鈴木 高橋 田中 伊藤 渡辺 山本 中村 小林 加藤 吉田 山田 佐々木 山口 松本 井上 木村 斎藤 清水 山崎 池田 橋本 阿部 石川 \
        山下 中島 石井 小川 前田 岡田 長谷川 藤田 後藤 近藤 村上 遠藤 青木 坂本 斉藤 福田 太田 西村 藤井 金子 岡本 藤原 中野 三浦 原田 中川 松田 \
        竹内 小野 田村 中山 和田 石田 森田 上田 内田 柴田 酒井 宮崎 横山 高木 安藤 宮本 大野 小島 工藤 谷口 今井 高田 増田 丸山 杉山 村田 大塚 \
        新井 小山 平野 藤本 河野 上野 野口 武田 松井 千葉 菅原 岩崎 久保 木下 佐野 野村 松尾 菊地 杉本 市川 古川 大西 島田 水野 桜井 高野 渡部 吉川 \
        山内 西田 飯田 菊池 西川 小松 北村 安田 五十嵐 川口 平田 中田 久保田 服部 岩田 土屋 川崎 福島 本田 辻 樋口 秋山 田口 永井 中西 吉村 \
        川上 石原 大橋 松岡 馬場 浜田 森本 星野 矢野 浅野 大島 吉岡 小池 大谷 荒木 野田 熊谷 松浦 黒澤 宮沢 夏目 芥川 川端 三島 太宰 与謝野 徳川 織田 \
        豊臣";
    let generic = |word: &str| GENERIC.split_whitespace().any(|other| other == word);
    let mut word = run;
    let next = behind.chars().next().filter(|c| is_hiragana(*c));
    if next.is_some() && !PARTICLES.iter().any(|particle| behind.starts_with(particle)) {
        // A verb: `設立された`. Otherwise the last Han character is a verb stem: `東京生まれ`.
        if behind.starts_with(['し', 'さ', 'す', 'せ']) {
            return None;
        }
        word = &run[..run.char_indices().next_back().map_or(0, |(at, _)| at)];
    }
    // A single character, as in `1920年`, is a counter.
    let count = word.chars().count();
    if !(2..=MAX_JAPANESE_CHARS).contains(&count) || generic(word) {
        return None;
    }
    let surname =
        SURNAMES.split_whitespace().find(|name| word.starts_with(name)).map(|name| name.chars().count());
    let ends = count >= 3 && ENDINGS.iter().any(|ending| word.len() > ending.len() && word.ends_with(ending));
    let is_person = surname.is_some_and(|surname| (surname + 1..=surname + 3).contains(&count) && count >= 3);
    let is_dotted = word.contains(['・', '＝', '゠', '－']);
    Some((word.len(), ends || is_person || is_dotted))
}

/// Returns the length in bytes of a Korean word without particles, and whether its form marks it as a name.
fn korean(run: &str, behind: &str) -> Option<(usize, bool)> {
    // Longer particles come before their endings.
    const PARTICLES: [&str; 44] = [
        "에서부터",
        "으로부터",
        "에게서",
        "이라고",
        "이라는",
        "에서는",
        "에서도",
        "으로는",
        "으로서",
        "으로써",
        "까지는",
        "라고",
        "라는",
        "에서",
        "에게",
        "한테",
        "께서",
        "으로",
        "까지",
        "부터",
        "보다",
        "처럼",
        "마다",
        "이나",
        "이며",
        "이고",
        "이다",
        "에는",
        "에도",
        "와의",
        "과의",
        "로서",
        "은",
        "는",
        "이",
        "가",
        "을",
        "를",
        "의",
        "에",
        "와",
        "과",
        "로",
        "도",
    ];
    const GENERIC: &str = "그 그는 그녀 그녀는 이 저 것 수 등 및 또는 그리고 그러나 하지만 또한 때 후 전 중 당시 현재 이후 이전 이곳 그곳 여기 거기 년 월 일 \
        명 개 곳 위 사람 도시 회사 기업 영화 감독 인구 본사 직원 고문 출신 출생 대표 작품 만년 누구 무엇 어디 언제 왜 어떻게 어느 매우 가장 모두 함께 \
        위해 위한 대한 대해 통해 따라 의해 있는 없는 하는 되는 된 한 할 있다 없다 했다 됐다 같은 다른 여러 많은";
    const SURNAMES: &str = "김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구민진나엄채원천방공현함변염여추도소석선설마길연위표명기반왕금옥육인맹제모";
    const ENDINGS: [&str; 28] = [
        "시",
        "도",
        "군",
        "구",
        "면",
        "동",
        "역",
        "강",
        "산",
        "섬",
        "항",
        "교",
        "대교",
        "사",
        "궁",
        "성",
        "대학교",
        "고등학교",
        "은행",
        "병원",
        "박물관",
        "미술관",
        "도서관",
        "연구소",
        "협회",
        "위원회",
        "신문",
        "전쟁",
    ];
    let generic = |word: &str| GENERIC.split_whitespace().any(|other| other == word);
    // A verb ends the sentence.
    let is_last = !behind.starts_with(' ') || behind.trim_start().is_empty();
    if generic(run) || (is_last && run.ends_with('다') && !run.ends_with("이다")) {
        return None;
    }
    let bare = PARTICLES.iter().find_map(|particle| run.strip_suffix(particle));
    let word = bare.filter(|bare| bare.chars().count() >= 2).unwrap_or(run);
    let count = word.chars().count();
    if count < 2 || generic(word) || bare.is_some_and(generic) {
        return None;
    }
    let is_person = count == 3 && word.starts_with(|c| SURNAMES.contains(c));
    let ends = count >= 3 && ENDINGS.iter().any(|ending| word.ends_with(ending));
    Some((word.len(), is_person || ends))
}

fn script(c: char) -> Script {
    match c {
        _ if is_ideograph(c) => Script::Ideograph,
        '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{ff66}'..='\u{ff9f}' => Script::Katakana,
        _ if is_hangul(c) => Script::Hangul,
        '\u{e00}'..='\u{e7f}' | '\u{e80}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' => {
            Script::SouthEastAsian
        }
        _ => Script::Other,
    }
}

pub(super) fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}' | '々' | '〇')
}

pub(super) fn is_hiragana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309f}')
}

pub(super) fn is_hangul(c: char) -> bool {
    matches!(c, '\u{ac00}'..='\u{d7a3}')
}
