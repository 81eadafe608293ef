//! Asking for memory before it is needed.
//!
//! Which endpoints the next deliveries go to is known well ahead, and each lies in a cache line of its own that the
//! processor cannot guess. Asking for it early saved about a quarter of the time per packet. The instruction has no
//! visible effect and cannot fail at any address; only its raw pointer makes it `unsafe`.

/// Begin to bring the start of `values[index]` into the cache; does nothing when there is no such element.
#[inline]
pub(crate) fn prefetch<T>(values: &[T], index: usize) {
    prefetch_start(values, index, 1);
}

/// The same for as many cache lines as its first `bytes` lie in.
#[inline]
#[expect(unsafe_code, reason = "a prefetch has no safe form, and without it the speed aim is out of reach")]
pub(crate) fn prefetch_start<T>(values: &[T], index: usize, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(value) = values.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = std::ptr::from_ref(value).cast::<i8>();
        for offset in (0..bytes).step_by(LINE) {
            // SAFETY: prefetching is allowed at any address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(offset)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, index, bytes);
}

/// Bytes of a cache line.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    // `make miri` runs it under Miri, which finds undefined behaviour.
    #[test]
    fn any_index_and_any_number_of_bytes_is_allowed() {
        let values = [7_u64, 8, 9];
        for index in 0..5 {
            prefetch(&values, index);
            prefetch_start(&values, index, 1_000);
        }
        assert_eq!(values, [7, 8, 9]);
    }
}
