//! The functions that the kernel's process calls (`kernel/um/engine_user.c`): a [`KernelNetwork`] for one thread, without Rust's types.
//!
//! A panic ends the process with its message, as `extern "C"` functions do.

#![expect(unsafe_code, reason = "the caller is C")]

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int};

use aqmlab_live::kernel_network::{self, KernelNetwork};

/// The time of no event.
const NEVER: u64 = u64::MAX;

thread_local! {
    static NETWORK: RefCell<Option<Box<dyn KernelNetwork>>> = const { RefCell::new(None) };
}

fn with<R>(call: impl FnOnce(&mut dyn KernelNetwork) -> R) -> R {
    NETWORK
        .with_borrow_mut(|network| call(&mut **network.as_mut().expect("the kernel starts the engine first")))
}

/// Starts the network of the request in the file `path`. Returns 0, or 1 after an error, which is on standard output.
///
/// # Safety
///
/// `path` must be a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_start(path: *const c_char) -> c_int {
    // SAFETY: the caller promises it.
    let path = unsafe { CStr::from_ptr(path) };
    match kernel_network::open(&path.to_string_lossy()) {
        Ok(network) => {
            NETWORK.set(Some(network));
            0
        }
        Err(_) => 1,
    }
}

/// Returns the number of network devices.
#[unsafe(no_mangle)]
pub extern "C" fn aqmlab_ports() -> c_int {
    c_int::try_from(with(|network| network.ports())).expect("a network has few queues")
}

/// Returns the bytes before the IP header of the packets of `port`.
#[unsafe(no_mangle)]
pub extern "C" fn aqmlab_header(port: c_int) -> u32 {
    u32::try_from(with(|network| network.header(device(port)))).expect("a short header")
}

/// Takes packet `number` that the device of `port` sends at `now`. Returns the time until which its line is busy, or 0.
///
/// # Safety
///
/// `packet` must point to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_send(
    port: c_int,
    now: u64,
    number: u32,
    packet: *const u8,
    length: u32,
) -> u64 {
    // SAFETY: the caller promises it.
    let packet = unsafe { std::slice::from_raw_parts(packet, length as usize) };
    with(|network| network.send(device(port), now, number, packet)).unwrap_or(0)
}

/// Takes the news that the queue of `port` has dropped packet `number`.
#[unsafe(no_mangle)]
pub extern "C" fn aqmlab_drop(port: c_int, now: u64, number: u32) {
    with(|network| network.drop(device(port), now, number));
}

fn device(port: c_int) -> usize {
    usize::try_from(port).expect("a port is counted from 0")
}

/// Returns the time of the next event, or the largest number if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn aqmlab_next() -> u64 {
    with(|network| network.next_event().unwrap_or(NEVER))
}

/// Writes the next packet that has arrived by `now` to `packet`, and its port and its number. Returns its length, or 0 if there is
/// none.
///
/// # Safety
///
/// `packet` must point to `room` bytes, and `port` and `number` to integers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_receive(
    now: u64,
    port: *mut c_int,
    number: *mut u32,
    packet: *mut u8,
    room: u32,
) -> u32 {
    // SAFETY: the caller promises it.
    let packet = unsafe { std::slice::from_raw_parts_mut(packet, room as usize) };
    let Some((device, index, length)) = with(|network| network.receive(now, packet)) else { return 0 };
    // SAFETY: the caller promises two integers.
    unsafe {
        *port = c_int::try_from(device).expect("a network has few queues");
        *number = index;
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
    with(|network| network.control(now, message));
}

/// Writes the results, after the kernel has stopped.
#[unsafe(no_mangle)]
pub extern "C" fn aqmlab_finish() {
    with(|network| network.finish());
}
