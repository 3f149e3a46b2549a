//! Pictures that came in a request, for as long as it is answered: nothing of them is stored.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use bytes::Bytes;
use contract::{Caller, DeliveryError, FileRef, Opaque, Source, TurnId, Why, seams::ByteStream};

use crate::problem::Problem;

/// Most bytes of one picture.
pub const PICTURE_MAX: usize = 5 * 1024 * 1024;
/// Most bytes of all pictures that are held at once.
const ALL_MAX: usize = 64 * 1024 * 1024;

/// The pictures of requests under way.
#[derive(Default)]
pub struct Pictures(Mutex<HashMap<String, Bytes>>);

/// A picture as it came.
pub struct Picture {
    pub media_type: String,
    pub bytes: Bytes,
}

/// Pictures of one request; they go with this.
pub struct Held {
    all: Arc<Pictures>,
    keys: Vec<String>,
}

impl Pictures {
    /// Keeps them until what is returned is dropped.
    pub fn hold(self: &Arc<Self>, pictures: Vec<Picture>) -> Result<(Vec<FileRef>, Held), Problem> {
        let mut held = Held { all: self.clone(), keys: Vec::new() };
        let mut files = Vec::with_capacity(pictures.len());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sum: usize = all.values().chain(pictures.iter().map(|picture| &picture.bytes)).map(Bytes::len).sum();
        if sum > ALL_MAX {
            return Err(Problem::busy("too many pictures are under way already"));
        }
        for (n, Picture { media_type, bytes }) in pictures.into_iter().enumerate() {
            let key = TurnId::new().to_string();
            let size = u64::try_from(bytes.len()).ok();
            let ending = media_type.strip_prefix("image/").unwrap_or("bin");
            let name = format!("picture-{}.{ending}", n + 1);
            let handle = Opaque::new(key.clone()).expect("a key is short");
            files.push(FileRef { name, media_type: Some(media_type), size, handle });
            all.insert(key.clone(), bytes);
            held.keys.push(key);
        }
        drop(all);
        Ok((files, held))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut all = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        for key in &self.keys {
            all.remove(key);
        }
    }
}

#[async_trait]
impl Source for Pictures {
    async fn open(&self, file: &FileRef) -> Result<ByteStream, DeliveryError> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = all.get(file.handle.reveal()).cloned().ok_or(DeliveryError::Refused(Why::Gone))?;
        Ok(Box::pin(futures_util::stream::iter([Ok(bytes)])))
    }

    /// Programs have none.
    async fn roles(&self, _who: &Caller) -> Result<Vec<String>, DeliveryError> {
        Ok(Vec::new())
    }
}
