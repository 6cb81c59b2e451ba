//! What the commands of LaTeX do to the text.

/// What a command does.
pub(super) enum Effect {
    /// It and its arguments are not text.
    LeaveOut,
    /// Its argument is a heading of this level.
    Heading(u8),
    /// Its argument is written between these words.
    Group(&'static str, &'static str),
    /// This many arguments are not text; later ones are.
    Skip(u8),
    /// It is replaced by these words.
    Words(&'static str),
    /// It puts this accent on the next letter.
    Accent(char),
    /// It begins an item of a list.
    Item,
    /// Code between two equal signs, or in braces, follows.
    Verbatim,
    Begin,
    End,
    /// Its arguments are text.
    Nothing,
}

/// Returns what a command does; arguments of unknown commands are text.
pub(super) fn effect_of(command: &str) -> Effect {
    let cites = command.to_ascii_lowercase().contains("cite");
    match command {
        _ if cites => Effect::LeaveOut,
        "ref"
        | "eqref"
        | "autoref"
        | "nameref"
        | "pageref"
        | "cref"
        | "Cref"
        | "vref"
        | "label"
        | "includegraphics"
        | "input"
        | "include"
        | "usepackage"
        | "RequirePackage"
        | "documentclass"
        | "bibliography"
        | "bibitem"
        | "bibliographystyle"
        | "addbibresource"
        | "printbibliography"
        | "vspace"
        | "hspace"
        | "vskip"
        | "hskip"
        | "setlength"
        | "addtolength"
        | "setcounter"
        | "addtocounter"
        | "newcommand"
        | "renewcommand"
        | "providecommand"
        | "newenvironment"
        | "renewenvironment"
        | "newtheorem"
        | "DeclareMathOperator"
        | "def"
        | "let"
        | "pagestyle"
        | "thispagestyle"
        | "pagenumbering"
        | "hypersetup"
        | "graphicspath"
        | "index"
        | "glsadd"
        | "newacronym"
        | "newglossaryentry"
        | "phantom"
        | "hphantom"
        | "vphantom"
        | "color"
        | "definecolor"
        | "fontsize"
        | "addcontentsline"
        | "markboth"
        | "markright"
        | "rule"
        | "cline"
        | "cmidrule"
        | "captionsetup"
        | "lstset"
        | "thanks"
        | "tikzset"
        | "hyphenation"
        | "today"
        | "theoremstyle"
        | "geometry" => Effect::LeaveOut,
        "part" | "chapter" | "title" => Effect::Heading(1),
        "section" => Effect::Heading(2),
        "subsection" => Effect::Heading(3),
        "subsubsection" => Effect::Heading(4),
        "author" | "date" | "subtitle" | "institute" => Effect::Group("", ""),
        "footnote" => Effect::Group(" (", ")"),
        "texttt" | "code" => Effect::Group("`", "`"),
        "enquote" => Effect::Group("“", "”"),
        "href" | "textcolor" | "colorbox" | "scalebox" | "rotatebox" | "raisebox" | "parbox" | "hyperref" => {
            Effect::Skip(1)
        }
        "multicolumn" | "multirow" | "resizebox" | "fcolorbox" => Effect::Skip(2),
        "ldots" | "dots" | "textellipsis" => Effect::Words("…"),
        "LaTeX" => Effect::Words("LaTeX"),
        "TeX" => Effect::Words("TeX"),
        "and" => Effect::Words(", "),
        "par" | "newline" | "linebreak" | "quad" | "qquad" | "hfill" => Effect::Words(" "),
        "textendash" => Effect::Words("–"),
        "textemdash" => Effect::Words("—"),
        "textbackslash" => Effect::Words("\\"),
        "textasciitilde" => Effect::Words("~"),
        "textquotedblleft" => Effect::Words("“"),
        "textquotedblright" => Effect::Words("”"),
        "S" => Effect::Words("§"),
        "copyright" | "textcopyright" => Effect::Words("©"),
        "textregistered" => Effect::Words("®"),
        "texttrademark" => Effect::Words("™"),
        "euro" | "texteuro" => Effect::Words("€"),
        "pounds" | "textsterling" => Effect::Words("£"),
        "degree" | "textdegree" => Effect::Words("°"),
        "ss" => Effect::Words("ß"),
        "ae" => Effect::Words("æ"),
        "AE" => Effect::Words("Æ"),
        "oe" => Effect::Words("œ"),
        "OE" => Effect::Words("Œ"),
        "o" => Effect::Words("ø"),
        "O" => Effect::Words("Ø"),
        "aa" => Effect::Words("å"),
        "AA" => Effect::Words("Å"),
        "l" => Effect::Words("ł"),
        "L" => Effect::Words("Ł"),
        "i" => Effect::Words("i"),
        "j" => Effect::Words("j"),
        "c" => Effect::Accent('\u{327}'),
        "v" => Effect::Accent('\u{30c}'),
        "u" => Effect::Accent('\u{306}'),
        "H" => Effect::Accent('\u{30b}'),
        "k" => Effect::Accent('\u{328}'),
        "r" => Effect::Accent('\u{30a}'),
        "d" => Effect::Accent('\u{323}'),
        "item" => Effect::Item,
        "verb" | "lstinline" => Effect::Verbatim,
        "begin" => Effect::Begin,
        "end" => Effect::End,
        _ => Effect::Nothing,
    }
}
