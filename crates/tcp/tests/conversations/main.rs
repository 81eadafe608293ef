//! One endpoint at a time, its peer played by a script: what each rule of TCP asks for, segment by segment.

#![expect(clippy::duplicate_mod, reason = "the common scripts are played to each stack")]

mod recorder;
mod script;

/// Conversations with every stack. The profiles are classic, and a stack of today does the same with them.
macro_rules! common {
    ($name:ident, $stack:ty $(, $more:ident)*) => {
        #[path = "every"]
        mod $name {
            mod script {
                pub(crate) use crate::script::*;
                pub(crate) type Conversation = Script<$stack>;
            }

            mod closing;
            mod ecn;
            mod handshake;
            mod loss;
            mod receiving;
            mod sending;
            $(mod $more;)*
        }
    };
}

common!(basic, aqmlab_tcp::Basic);
common!(scaled, aqmlab_tcp::Scaled, scaling);
common!(full, aqmlab_tcp::Full<aqmlab_tcp::congestion::Any>, scaling);

mod modern;
mod profiles;
