//! Builds a text whose lines are those of its source.

/// A text in the making that knows which line of the source it stands on.
pub(super) struct AlignedText<'a> {
    source: &'a str,
    text: String,
    /// Where in the source lines are counted to, and how many ended before.
    counted: usize,
    source_line: usize,
    /// Lines that ended in the text.
    line: usize,
    in_step: bool,
}

impl<'a> AlignedText<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self {
            source,
            text: String::with_capacity(source.len()),
            counted: 0,
            source_line: 0,
            line: 0,
            in_step: true,
        }
    }

    /// Goes on to the line of the source that holds the byte `offset`; offsets come in ascending order. Stays where the
    /// text is at that line or beyond.
    pub(super) fn go_to(&mut self, offset: usize) {
        let line = self.line_of(offset);
        if line > self.line {
            self.trim_line();
        }
        self.text.extend(std::iter::repeat_n('\n', line.saturating_sub(self.line)));
        self.line = self.line.max(line);
        self.in_step &= self.line == line;
    }

    /// As [`Self::go_to`], on a line of its own.
    pub(super) fn new_line(&mut self, offset: usize) {
        self.go_to(offset);
        if !self.at_line_start() {
            self.text.push('\n');
            self.line += 1;
            self.in_step = false;
        }
    }

    /// As [`Self::line_at`], and counts on from there.
    fn line_of(&mut self, offset: usize) -> usize {
        if offset > self.counted {
            self.source_line += self.source[self.counted..offset].matches('\n').count();
            self.counted = offset;
        }
        self.source_line
    }

    /// Lines of the source before the one that holds `offset`, which may lie ahead.
    pub(super) fn line_at(&self, offset: usize) -> usize {
        self.source_line + self.source[self.counted.min(offset)..offset].matches('\n').count()
    }

    /// Adds words that end no line.
    pub(super) fn push(&mut self, words: &str) {
        debug_assert!(!words.contains('\n'), "a line end moves lines");
        self.text.push_str(words);
    }

    pub(super) fn at_line_start(&self) -> bool {
        self.text.is_empty() || self.text.ends_with('\n')
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Removes blanks at the end of the text.
    pub(super) fn trim_line(&mut self) {
        self.text.truncate(self.text.trim_end_matches([' ', '\t']).len());
    }

    /// Lines that ended in the text.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// Ends the line, whether or not the source has one more.
    pub(super) fn end_line(&mut self) {
        self.text.push('\n');
        self.line += 1;
    }

    /// The text, which ends with a line end, and whether its lines are those of the source.
    pub(super) fn finish(mut self) -> (String, bool) {
        if !self.at_line_start() {
            self.text.push('\n');
        }
        (self.text, self.in_step)
    }
}
