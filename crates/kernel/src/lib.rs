//! The functions that the kernel's process calls (`kernel/um/engine_user.c`): [`Engine`] for one thread, without Rust's types.
//!
//! A panic ends the process with its message, as `extern "C"` functions do.

#![expect(unsafe_code, reason = "the caller is C")]

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int};

use aqmlab_live::engine::Engine;

/// The time of no event.
const NEVER: u64 = u64::MAX;

thread_local! {
    static ENGINE: RefCell<Option<Engine>> = const { RefCell::new(None) };
}

fn with<R>(call: impl FnOnce(&mut Engine) -> R) -> R {
    ENGINE.with_borrow_mut(|engine| call(engine.as_mut().expect("the kernel starts the engine first")))
}

/// Starts the engine with the request in the file `path`. Returns 0, or 1 after an error, which is on standard output.
///
/// # Safety
///
/// `path` must be a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_start(path: *const c_char) -> c_int {
    // SAFETY: the caller promises it.
    let path = unsafe { CStr::from_ptr(path) };
    match Engine::new(&path.to_string_lossy()) {
        Ok(engine) => {
            ENGINE.set(Some(engine));
            0
        }
        Err(_) => 1,
    }
}

/// Takes a packet that the device of side `port` sends at `now`. No device has a line: the result is 0.
///
/// # Safety
///
/// `packet` must point to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_send(port: c_int, now: u64, packet: *const u8, length: u32) -> u64 {
    // SAFETY: the caller promises it.
    let packet = unsafe { std::slice::from_raw_parts(packet, length as usize) };
    with(|engine| engine.send(usize::from(port == 1), now, packet));
    0
}

/// Returns the time of the next event, or the largest number if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn aqmlab_next() -> u64 {
    with(|engine| engine.next_event().unwrap_or(NEVER))
}

/// Writes the next packet that has arrived by `now` to `packet`, and the side of its receiver to `port`. Returns its length, or 0
/// if there is none.
///
/// # Safety
///
/// `packet` must point to `room` bytes, and `port` to an integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_receive(now: u64, port: *mut c_int, packet: *mut u8, room: u32) -> u32 {
    let Some((side, bytes)) = with(|engine| engine.receive(now)) else { return 0 };
    let length = bytes.len().min(room as usize);
    // SAFETY: the caller promises room for this many bytes, and an integer.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), packet, length);
        *port = c_int::from(side == 1);
    }
    u32::try_from(length).expect("no longer than the room")
}

/// Handles a message of the guest's program.
///
/// # Safety
///
/// `message` must point to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_control(now: u64, message: *const u8, length: u32) {
    // SAFETY: the caller promises it.
    let message = unsafe { std::slice::from_raw_parts(message, length as usize) };
    with(|engine| engine.control(now, message));
}

/// Writes the results, after the kernel has stopped.
#[unsafe(no_mangle)]
pub extern "C" fn aqmlab_finish() {
    with(Engine::finish);
}
