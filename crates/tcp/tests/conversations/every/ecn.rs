//! Explicit congestion notification, one kind or source a file.

use super::script;

mod accurate;
mod classic;
mod codepoints;
mod dctcp;
mod plus;
mod recovery;
