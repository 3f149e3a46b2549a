//! A service that misbehaves as a test says, over real sockets: it hangs, drips, resets, takes effect and says nothing.
//!
//! It speaks just enough HTTP/1.1 and writes its answers by hand, since a server would not answer so badly.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

/// Most bytes of a request.
const REQUEST_MAX: usize = 1 << 20;

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Counted from 0.
    pub n: usize,
    pub method: String,
    /// With its query.
    pub path: String,
    /// In lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What it does with a request that it has read whole, and so may have carried out.
#[derive(Debug, Clone)]
pub enum Act {
    Answer {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: Vec<u8>,
    },
    /// Says nothing, for ever.
    Hang,
    /// Says that it is well, and nothing else.
    HangAfterHead,
    HangInBody,
    /// A byte now and then, for ever.
    Drip(Duration),
    /// Ends the connection without a word.
    Close,
    Reset,
    ResetInBody,
    /// A body without an end, as fast as it is read.
    Huge,
}

impl Act {
    /// A JSON answer.
    pub fn json(status: u16, body: &str) -> Self {
        Self::Answer { status, headers: vec![("content-type", "application/json".into())], body: body.into() }
    }

    /// A status, with a header.
    pub fn with(status: u16, name: &'static str, value: impl Into<String>) -> Self {
        Self::Answer { status, headers: vec![(name, value.into())], body: b"{}".to_vec() }
    }
}

type Plan = dyn Fn(&Asked) -> Act + Send + Sync;

/// A service on a port of its own; it ends when it is dropped.
pub struct Service {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: JoinHandle<()>,
}

impl Service {
    pub async fn start(plan: impl Fn(&Asked) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let asked = Arc::default();
        let task = tokio::spawn(serve(listener, Arc::new(plan), Arc::clone(&asked)));
        Self { address, asked, task }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Every request, as they came.
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.asked).clone()
    }

    pub fn count(&self) -> usize {
        lock(&self.asked).len()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(asked: &Mutex<Vec<Asked>>) -> MutexGuard<'_, Vec<Asked>> {
    asked.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(listener: TcpListener, plan: Arc<Plan>, asked: Arc<Mutex<Vec<Asked>>>) {
    let mut connections = JoinSet::new();
    while let Ok((socket, _)) = listener.accept().await {
        let (plan, asked) = (plan.clone(), asked.clone());
        let _ = socket.set_nodelay(true);
        connections.spawn(async move {
            // However it ends, it ends for this client alone.
            let _ = converse(socket, &*plan, &asked).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn converse(mut socket: TcpStream, plan: &Plan, asked: &Mutex<Vec<Asked>>) -> std::io::Result<()> {
    let mut read = Vec::new();
    while let Some(mut ask) = request(&mut socket, &mut read).await? {
        let act = {
            let mut all = lock(asked);
            ask.n = all.len();
            all.push(ask.clone());
            drop(all);
            plan(&ask)
        };
        if !perform(&mut socket, act).await? {
            return Ok(());
        }
    }
    Ok(())
}

/// The next request of a connection; nothing when there are no more.
async fn request(socket: &mut TcpStream, read: &mut Vec<u8>) -> std::io::Result<Option<Asked>> {
    let mut buffer = vec![0; 16_384];
    loop {
        if let Some((ask, length)) = parse(read) {
            read.drain(..length);
            return Ok(Some(ask));
        }
        let n = socket.read(&mut buffer).await?;
        if n == 0 || read.len() > REQUEST_MAX {
            return Ok(None);
        }
        read.extend_from_slice(&buffer[..n]);
    }
}

fn parse(read: &[u8]) -> Option<(Asked, usize)> {
    let end = read.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&read[..end]).into_owned();
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, n)| n.parse().ok());
    let whole = end + 4 + length.unwrap_or(0);
    let body = read.get(end + 4..whole)?.to_vec();
    Some((Asked { n: 0, method, path, headers, body }, whole))
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n";

/// Whether the connection goes on.
async fn perform(socket: &mut TcpStream, act: Act) -> std::io::Result<bool> {
    match act {
        Act::Answer { status, headers, body } => {
            let mut head = format!("HTTP/1.1 {status} Said\r\ncontent-length: {}\r\n", body.len());
            for (name, value) in headers {
                head += &format!("{name}: {value}\r\n");
            }
            let whole = [head.as_bytes(), b"\r\n", &body].concat();
            socket.write_all(&whole).await?;
            return Ok(true);
        }
        Act::Hang => std::future::pending().await,
        Act::HangAfterHead => {
            socket.write_all(HEAD.as_bytes()).await?;
            std::future::pending().await
        }
        Act::HangInBody => {
            socket.write_all(HEAD.as_bytes()).await?;
            socket.write_all(b"{\"half\": ").await?;
            std::future::pending().await
        }
        Act::Drip(every) => {
            socket.write_all(HEAD.as_bytes()).await?;
            loop {
                socket.write_all(b" ").await?;
                tokio::time::sleep(every).await;
            }
        }
        Act::Close => {}
        Act::Reset => socket.set_zero_linger()?,
        Act::ResetInBody => {
            socket.write_all(HEAD.as_bytes()).await?;
            socket.write_all(b"{\"half\": ").await?;
            // What was written has to arrive before the reset overtakes it.
            tokio::time::sleep(Duration::from_millis(20)).await;
            socket.set_zero_linger()?;
        }
        Act::Huge => {
            socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n").await?;
            let chunk = vec![b'x'; 65_536];
            loop {
                socket.write_all(&chunk).await?;
            }
        }
    }
    Ok(false)
}
