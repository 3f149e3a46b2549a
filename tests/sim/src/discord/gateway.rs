//! The gateway's sockets: frames in and out, whole or as one compressed stream.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{ConnectInfo, Query, Request, State};
use axum::response::Response;
use flate2::{Compress, Compression, FlushCompress, write::ZlibEncoder};
use futures_util::{FutureExt, SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::Value;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use super::Discord;
use super::session::Order;
use crate::server::Line;
use crate::socket::{self, Socket};

/// How a client wants to be spoken to.
#[derive(Debug, Default, Deserialize)]
pub struct How {
    #[serde(default)]
    v: String,
    #[serde(default)]
    encoding: String,
    #[serde(default)]
    compress: String,
}

pub async fn first(state: State<Arc<Discord>>, line: ConnectInfo<Line>, how: Query<How>, request: Request) -> Response {
    open(state.0, line.0, how.0, request)
}

/// The same at the address for resuming.
pub async fn again(state: State<Arc<Discord>>, line: ConnectInfo<Line>, how: Query<How>, request: Request) -> Response {
    state.0.write(|world| world.count("resume_address"));
    open(state.0, line.0, how.0, request)
}

fn open(discord: Arc<Discord>, line: Line, how: How, request: Request) -> Response {
    socket::upgrade(request, move |socket| serve(discord, line, how, socket))
}

async fn serve(discord: Arc<Discord>, line: Line, how: How, mut socket: Socket) {
    let id = discord.write(|world| world.connect(&how.v, &how.encoding));
    let mut packer = Packer::new(&how.compress);
    let ending = talk(&discord, id, &mut packer, &mut socket).await;
    let farewell = matches!(ending, End::Farewell);
    discord.write(|world| world.disconnect(id, farewell));
    match ending {
        // Time for the other side's frame; a client that has none is cut.
        End::Closed => {
            let rest = async { while socket.next().await.is_some_and(|frame| frame.is_ok()) {} };
            let _ = tokio::time::timeout(Duration::from_secs(5), rest).await;
        }
        End::Cut => {
            let _ = line.cut::<()>().now_or_never();
        }
        End::Gone | End::Farewell => {}
    }
}

/// How a conversation over a socket ended.
enum End {
    /// The client closed it with a code that ends its session.
    Farewell,
    Gone,
    Closed,
    Cut,
}

async fn talk(discord: &Discord, id: u64, packer: &mut Packer, socket: &mut Socket) -> End {
    let mut updates = discord.updates();
    let mut clock = tokio::time::interval(Duration::from_millis(100));
    clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        updates.borrow_and_update();
        let (orders, squeeze) = discord.pull(id);
        for order in orders {
            let frame = match order {
                Order::Send(event) => packer.pack(&event, squeeze),
                Order::Close(code) => {
                    let frame = code.map(|(code, reason)| CloseFrame { code: code.into(), reason: reason.into() });
                    // Whoever is gone already needs no farewell.
                    let _ = socket.send(Message::Close(frame)).await;
                    return End::Closed;
                }
                Order::Cut => return End::Cut,
            };
            if socket.send(frame).await.is_err() {
                return End::Gone;
            }
        }
        tokio::select! {
            frame = socket.next() => match frame {
                Some(Ok(Message::Text(text))) => discord.write(|world| world.heard(id, &text)),
                Some(Ok(Message::Binary(_))) => discord.write(|world| world.heard(id, "binary")),
                Some(Ok(Message::Close(frame))) => return ending(frame.as_ref().map(|frame| u16::from(frame.code))),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return End::Gone,
            },
            changed = updates.changed() => if changed.is_err() { return End::Cut },
            _ = clock.tick() => discord.write(|world| world.watch(id)),
            () = discord.stopped() => return End::Cut,
        }
    }
}

/// A close with 1000 or 1001 ends the session; any other, or none, leaves it to be resumed.
fn ending(code: Option<u16>) -> End {
    match code {
        Some(1_000 | 1_001) => End::Farewell,
        _ => End::Gone,
    }
}

/// Turns events into frames.
struct Packer {
    stream: Option<Compress>,
}

impl Packer {
    fn new(how: &str) -> Self {
        Self { stream: (how == "zlib-stream").then(|| Compress::new(Compression::fast(), true)) }
    }

    fn pack(&mut self, event: &Value, squeeze: bool) -> Message {
        let text = event.to_string();
        match &mut self.stream {
            Some(stream) => Message::Binary(flushed(stream, text.as_bytes()).into()),
            None if squeeze => Message::Binary(alone(text.as_bytes()).into()),
            None => Message::text(text),
        }
    }
}

/// One event as a part of the stream, up to the mark by which clients know that it is whole.
fn flushed(stream: &mut Compress, mut text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() / 2 + 64);
    loop {
        let before = stream.total_in();
        if out.capacity() - out.len() < 64 {
            out.reserve(out.capacity().max(256));
        }
        // The encoder reports an error only when it is used after its end, which this stream has not.
        let _ = stream.compress_vec(text, &mut out, FlushCompress::Sync);
        text = &text[(stream.total_in() - before) as usize..];
        if text.is_empty() && out.len() < out.capacity() {
            return out;
        }
    }
}

fn alone(text: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory does not fail.
    let _ = encoder.write_all(text);
    encoder.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Decompress, FlushDecompress};
    use serde_json::json;

    #[test]
    fn every_part_of_a_stream_ends_with_the_mark_and_is_whole() {
        let mut packer = Packer::new("zlib-stream");
        let mut reader = Decompress::new(true);
        for size in [0, 1, 100, 70_000] {
            let event = json!({"text": (0..size).map(|n| char::from(b'a' + (n * 7 % 26) as u8)).collect::<String>()});
            let Message::Binary(part) = packer.pack(&event, false) else { panic!("compressed") };
            assert!(part.ends_with(&[0, 0, 255, 255]), "{size}");
            let mut out = Vec::with_capacity(100_000);
            reader.decompress_vec(&part, &mut out, FlushDecompress::Sync).expect("zlib");
            assert_eq!(serde_json::from_slice::<Value>(&out).expect("whole"), event);
        }
    }
}
