//! Reads a condition.

use super::{Decimal, Expr, Op, Step};

/// Most characters of a condition, and parentheses within one another.
const LONGEST: usize = 1_000;
const DEEPEST: usize = 32;

/// What is wrong with a condition, and at which character (from 1).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub at: usize,
    pub expected: &'static str,
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Word(String),
    Number(Decimal),
    Text(String),
    Sign(&'static str),
}

/// The longer ones first.
const SIGNS: [&str; 15] = ["==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "(", ")", "[", "]", ",", "."];

pub(super) fn condition(written: &str) -> Result<Expr, Fault> {
    if written.chars().count() > LONGEST {
        return Err(Fault { at: LONGEST, expected: "a shorter condition" });
    }
    let tokens = tokens(written)?;
    let end = written.chars().count() + 1;
    let mut parser = Parser { tokens, next: 0, end, depth: 0 };
    let begin = parser.at();
    let expr = parser.or()?;
    if parser.next < parser.tokens.len() {
        return Err(parser.fault("and, or, or the end"));
    }
    match can_hold(&expr) {
        true => Ok(expr),
        false => Err(Fault { at: begin, expected: "something that is true or false, such as amount > 100" }),
    }
}

/// Whether it may be true or false at all.
fn can_hold(expr: &Expr) -> bool {
    match expr {
        Expr::Or(parts) | Expr::And(parts) => parts.iter().all(can_hold),
        Expr::Not(part) => can_hold(part),
        Expr::Compare(..) | Expr::Path(_) | Expr::Bool(_) => true,
        Expr::Count(_) | Expr::List(_) | Expr::Number(_) | Expr::Text(_) | Expr::Null => false,
    }
}

fn tokens(written: &str) -> Result<Vec<(usize, Token)>, Fault> {
    let chars: Vec<char> = written.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = chars.get(at) {
        let begin = at;
        let token = match c {
            c if c.is_whitespace() => {
                at += 1;
                continue;
            }
            '"' | '\'' => {
                let close = chars[at + 1..].iter().position(|other| other == c);
                let close = close.ok_or(Fault { at: begin + 1, expected: "a quote that ends the text" })?;
                at += close + 2;
                Token::Text(chars[begin + 1..at - 1].iter().collect())
            }
            c if c.is_ascii_digit() || *c == '-' => {
                let more = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
                at += chars[at..].iter().take_while(|c| more(c)).count();
                let text: String = chars[begin..at].iter().collect();
                Token::Number(Decimal::read(&text).ok_or(Fault { at: begin + 1, expected: "a number" })?)
            }
            c if c.is_alphabetic() || *c == '_' => {
                at += chars[at..].iter().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-')).count();
                Token::Word(chars[begin..at].iter().collect())
            }
            _ => {
                let is_here = |sign: &&&str| sign.chars().enumerate().all(|(n, c)| chars.get(at + n) == Some(&c));
                let sign = SIGNS.iter().find(is_here);
                let sign = sign.ok_or(Fault { at: begin + 1, expected: "a comparison: == != < <= > >= or in" })?;
                at += sign.len();
                Token::Sign(sign)
            }
        };
        found.push((begin + 1, token));
    }
    Ok(found)
}

struct Parser {
    tokens: Vec<(usize, Token)>,
    next: usize,
    /// Behind the last character.
    end: usize,
    depth: usize,
}

impl Parser {
    fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(self.end, |(at, _)| *at)
    }

    fn fault(&self, expected: &'static str) -> Fault {
        Fault { at: self.at(), expected }
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(_, token)| token)
    }

    fn takes_sign(&mut self, sign: &str) -> bool {
        let is = matches!(self.peek(), Some(Token::Sign(found)) if *found == sign);
        self.next += usize::from(is);
        is
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let is = matches!(self.peek(), Some(Token::Word(found)) if found == word);
        self.next += usize::from(is);
        is
    }

    fn or(&mut self) -> Result<Expr, Fault> {
        let mut parts = vec![self.and()?];
        while self.takes_word("or") || self.takes_sign("||") {
            parts.push(self.and()?);
        }
        Ok(only_or(parts, Expr::Or))
    }

    fn and(&mut self) -> Result<Expr, Fault> {
        let mut parts = vec![self.not()?];
        while self.takes_word("and") || self.takes_sign("&&") {
            parts.push(self.not()?);
        }
        Ok(only_or(parts, Expr::And))
    }

    fn not(&mut self) -> Result<Expr, Fault> {
        if self.takes_word("not") || self.takes_sign("!") {
            return self.nested(|parser| Ok(Expr::Not(Box::new(parser.not()?))));
        }
        let left = self.value()?;
        let Some(op) = self.comparison() else { return Ok(left) };
        Ok(Expr::Compare(Box::new(left), op, Box::new(self.value()?)))
    }

    fn comparison(&mut self) -> Option<Op> {
        let op = match self.peek()? {
            Token::Sign("==") => Op::Is,
            Token::Sign("!=") => Op::IsNot,
            Token::Sign("<") => Op::Less,
            Token::Sign("<=") => Op::AtMost,
            Token::Sign(">") => Op::More,
            Token::Sign(">=") => Op::AtLeast,
            Token::Word(word) if word == "in" => Op::In,
            Token::Word(word) if word == "not" => {
                let (_, then) = self.tokens.get(self.next + 1)?;
                if *then != Token::Word("in".to_owned()) {
                    return None;
                }
                self.next += 1;
                Op::NotIn
            }
            _ => return None,
        };
        self.next += 1;
        Some(op)
    }

    fn value(&mut self) -> Result<Expr, Fault> {
        if self.takes_sign("(") {
            return self.nested(|parser| {
                let inner = parser.or()?;
                if parser.takes_sign(")") { Ok(inner) } else { Err(parser.fault("a closing parenthesis")) }
            });
        }
        if self.takes_sign("[") {
            return self.nested(Self::list);
        }
        let token = self.peek().cloned().ok_or_else(|| self.fault("an argument or a value"))?;
        let expr = match token {
            Token::Number(number) => Expr::Number(number),
            Token::Text(text) => Expr::Text(text),
            Token::Word(word) => {
                self.next += 1;
                return self.named(word);
            }
            Token::Sign(_) => return Err(self.fault("an argument or a value")),
        };
        self.next += 1;
        Ok(expr)
    }

    fn named(&mut self, word: String) -> Result<Expr, Fault> {
        match word.as_str() {
            "true" => return Ok(Expr::Bool(true)),
            "false" => return Ok(Expr::Bool(false)),
            "null" => return Ok(Expr::Null),
            "and" | "or" | "in" => {
                self.next -= 1;
                return Err(self.fault("an argument or a value"));
            }
            "count" if self.takes_sign("(") => {
                let Some(Token::Word(first)) = self.peek().cloned() else {
                    return Err(self.fault("an argument whose items are counted"));
                };
                self.next += 1;
                let steps = self.steps(first)?;
                let closed = self.takes_sign(")");
                return if closed { Ok(Expr::Count(steps)) } else { Err(self.fault("a closing parenthesis")) };
            }
            _ => {}
        }
        Ok(Expr::Path(self.steps(word)?))
    }

    fn steps(&mut self, first: String) -> Result<Vec<Step>, Fault> {
        let mut steps = vec![Step::Key(first)];
        loop {
            if self.takes_sign(".") {
                let Some(Token::Word(name)) = self.peek().cloned() else { return Err(self.fault("a name")) };
                self.next += 1;
                steps.push(Step::Key(name));
            } else if self.takes_sign("[") {
                let index = match self.peek() {
                    Some(Token::Number(number)) => number.index(),
                    _ => None,
                };
                let index = index.ok_or_else(|| self.fault("a place in the list, from 0"))?;
                self.next += 1;
                if !self.takes_sign("]") {
                    return Err(self.fault("a closing bracket"));
                }
                steps.push(Step::At(index));
            } else {
                return Ok(steps);
            }
        }
    }

    fn list(&mut self) -> Result<Expr, Fault> {
        let mut items = Vec::new();
        while !self.takes_sign("]") {
            if !items.is_empty() && !self.takes_sign(",") {
                return Err(self.fault("a comma or a closing bracket"));
            }
            items.push(self.value()?);
        }
        Ok(Expr::List(items))
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Result<Expr, Fault>) -> Result<Expr, Fault> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.fault("fewer parentheses within one another"));
        }
        let expr = read(self)?;
        self.depth -= 1;
        Ok(expr)
    }
}

fn only_or(mut parts: Vec<Expr>, all: impl FnOnce(Vec<Expr>) -> Expr) -> Expr {
    match parts.len() {
        1 => parts.pop().expect("there is one"),
        _ => all(parts),
    }
}
