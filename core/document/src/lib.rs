//! One CommonMark tree of a reply, cut and drawn by each platform's own rules.
