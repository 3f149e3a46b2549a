//! Sends ready-made requests over connections that are kept, at a pace or as fast as they are answered.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

/// How the requests fared.
pub struct Fared {
    /// From when each was due to its answer.
    pub samples: Vec<Duration>,
    pub refused: usize,
    pub took: Duration,
}

/// Sends them all over so many connections; with a pace, each when it is due, however the others fare.
pub async fn send(addr: SocketAddr, requests: Arc<Vec<Vec<u8>>>, connections: usize, per_second: Option<f64>) -> Fared {
    let next = Arc::new(AtomicUsize::new(0));
    let began = Instant::now();
    let mut senders = JoinSet::new();
    for _ in 0..connections {
        senders.spawn(sender(addr, requests.clone(), next.clone(), began, per_second));
    }
    let mut fared = Fared { samples: Vec::with_capacity(requests.len()), refused: 0, took: Duration::ZERO };
    while let Some(sent) = senders.join_next().await {
        let (samples, refused) = sent.expect("a sender ends");
        fared.samples.extend(samples);
        fared.refused += refused;
    }
    fared.took = began.elapsed();
    fared
}

async fn sender(
    addr: SocketAddr,
    requests: Arc<Vec<Vec<u8>>>,
    next: Arc<AtomicUsize>,
    began: Instant,
    per_second: Option<f64>,
) -> (Vec<Duration>, usize) {
    let mut stream = TcpStream::connect(addr).await.expect("loopback connects");
    stream.set_nodelay(true).expect("it is a socket");
    let (mut samples, mut refused, mut buffer) = (Vec::new(), 0, vec![0; 4_096]);
    loop {
        let n = next.fetch_add(1, Ordering::Relaxed);
        let Some(request) = requests.get(n) else { return (samples, refused) };
        let due = match per_second {
            Some(pace) => began + Duration::from_secs_f64(n as f64 / pace),
            None => Instant::now(),
        };
        tokio::time::sleep_until(due.into()).await;
        stream.write_all(request).await.expect("the server reads");
        if !answer(&mut stream, &mut buffer).await {
            refused += 1;
        }
        samples.push(due.elapsed());
    }
}

/// Reads one answer; whether it is 200.
async fn answer(stream: &mut TcpStream, buffer: &mut [u8]) -> bool {
    let mut filled = 0;
    loop {
        let read = stream.read(&mut buffer[filled..]).await.expect("the server answers");
        assert!(read > 0, "the server keeps the connection");
        filled += read;
        let Some(head) = buffer[..filled].windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let text = String::from_utf8_lossy(&buffer[..head]).to_ascii_lowercase();
        let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
        if filled >= head + 4 + length {
            return text.starts_with("http/1.1 200");
        }
    }
}
