"""Lines of Linux's ``tc`` as schemes, schemes as commands, and both as each other's inverse."""

from __future__ import annotations

import json
import math
import shlex
import shutil
import subprocess
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import aqmlab as lab
from aqmlab._core import SpecError
from aqmlab.advice.candidates import CANDIDATES
from aqmlab.cells.cell import Cell, cells_of
from aqmlab.disciplines.catalogue import Parameter
from aqmlab.spec import schemes
from aqmlab.tc import line, nearest, values, words
from aqmlab.tc.commands import Commands, commands
from conftest import Command
from laws.comparisons import COMPARISONS

HOME = lab.AccessLink(down="500 Mbit/s", up="20 Mbit/s", rtt="10..80 ms")


def cell(scheme: str, link: lab.AccessLink = HOME) -> Cell:
    parsed = schemes.parse(scheme)
    experiment = parsed.apply_to(link.experiment(warmup_s=2, duration_s=10))
    return cells_of(experiment, [1], label=parsed.label)[0]


def resolved(scheme: str) -> Any:
    """Return the queue of a scheme with all its parameters."""
    return cell(scheme).resolved["queue"]


# Lines as schemes.


@pytest.mark.parametrize(
    ("text", "scheme"),
    [
        ("cake bandwidth 20mbit diffserv4", "cake:variant=linux,bandwidth=20 Mbit/s,diffserv=diffserv4"),
        (
            "qdisc cake 8001: dev eth0 root refcnt 2 bandwidth 9500Kbit besteffort dual-srchost nonat nowash"
            " no-ack-filter split-gso rtt 100ms noatm overhead 44 mpu 84 memlimit 32Mb",
            "cake:variant=linux,bandwidth=9.5 Mbit/s,diffserv=besteffort,isolation=dual-srchost,atm=noatm,"
            "overhead=44 B,mpu=84 B,memlimit=33554432 B",
        ),
        ("cake docsis ether-vlan ether-vlan internet ingress", "cake:variant=linux,link_layer=docsis,ether_vlan=2,"
         "rtt=internet,ingress=true"),
        (
            "qdisc fq_codel 0: dev wan root refcnt 2 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms"
            " memory_limit 32Mb ecn drop_batch 64 \n Sent 512 bytes 4 pkt (dropped 0, overlimits 0 requeues 0)",
            "fq_codel:variant=linux,mtu=1514 B,memory_limit=33554432 B",
        ),
        ("sudo tc qdisc add dev eth0 parent 1:1 fq_codel limit 300 noecn", "fq_codel:variant=linux,mtu=1514 B,"
         "memory_limit=33554432 B,limit=300 packets,noecn"),
        ("tc -s qdisc replace dev $WAN root handle 1: codel ecn", "codel:variant=linux,mtu=1514 B,limit=1000 packets"),
        ("codel target 1500", "codel:variant=linux,mtu=1514 B,limit=1000 packets,target=1.5 ms,noecn"),
        ("cake ack-filter", "cake:variant=linux,ack_filter=ack-filter"),
        ("cake ack-filter-aggressive no-ack-filter", "cake:variant=linux"),
        ("cake via-ethernet nonat", "cake:variant=linux"),
        ("pfifo", "droptail:limit=1000 packets"),
        ("pfifo_head_drop limit 50", "droptail:limit=50 packets,drop=head"),
        (
            "fq_codel limit 900 memory_limit 4Mb ce_threshold 1ms ce_threshold_selector 0x1/0x3",
            "fq_codel:variant=linux,mtu=1514 B,memory_limit=4194304 B,limit=900 packets,ce_threshold=1 ms,"
            "ce_threshold_selector=ect1",
        ),
        ("bfifo limit 64k", "droptail:limit=65536 B"),
        ("dualpi2 step_thresh 500us coupling_factor 3", "dualpi2:variant=linux,step=500 us,k=3"),
    ],
)  # fmt: skip
def test_a_line_is_the_scheme_of_linux(text: str, scheme: str) -> None:
    assert line.scheme(text) == scheme
    resolved(scheme)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "fq_codel ce_threshold_selector 0xb8/0xfc",
            "tc fq_codel: ce_threshold_selector: is not modelled: laws see no",
        ),
        ("htb default 1", "tc htb: is not modelled (a shaper is a link: write link.rate); there are pfifo, bfifo,"),
        ("cake fwmark 0xff", "tc cake: fwmark: is not modelled: packets have no marks of a firewall"),
        (
            "cake_mq bandwidth 1gbit",
            "tc cake_mq: is not modelled (it is a CAKE for each transmit queue of the device",
        ),
        ("cake bandwith 20mbit", "tc cake: bandwith: is no option of cake (did you mean 'bandwidth'?)"),
        ("codel target", "tc codel: target: needs a value after it"),
        ("codel target 5parsec", "tc codel: target: expected a time such as 5ms, got 5parsec"),
        ("cake bandwidth fast", "tc cake: bandwidth: expected a rate such as 20mbit, got fast"),
        ("fq_codel limit many", "tc fq_codel: limit: expected a number, got many"),
        ("sfq perturb 10", "tc sfq: perturb: is not modelled: the hash of variant = linux does not change"),
        ("bfifo", "tc bfifo: limit: needs a value, because Linux takes its default from the device"),
        ("tc qdisc add dev eth0 root", "tc: expected a discipline with its options, such as fq_codel limit 1000, got"),
    ],
)
def test_a_line_that_is_not_modelled_is_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(SpecError) as error:
        line.scheme(text)
    assert str(error.value).startswith(message)


# tc derives the weight of red and choke from other options; netem is a link. Two lines of sfb have values that are the
# same only in 16 bits, or without a time to warm up.
READABLE = [
    comparison
    for comparison in COMPARISONS
    if not (comparison.law in ("red", "choke") or comparison.loss or comparison.name in ("sfb", "sfb-moving"))
]


@pytest.mark.parametrize("comparison", READABLE, ids=lambda comparison: comparison.name)
def test_a_line_has_the_parameters_that_the_kernel_agrees_with(comparison: Any) -> None:
    ours = {**comparison.parameters, **({} if comparison.ecn else {"noecn": True})}
    if comparison.law in ("droptail", "sfq"):
        ours.pop("noecn")
    expected = schemes.label(lab.Experiment(queue={comparison.law: ours}).queue, ecn=False)
    assert resolved(line.scheme(comparison.tc)) == resolved(expected)


# To tc and back.


def drawn(parameter: Parameter) -> st.SearchStrategy[Any]:
    """Return values of a parameter that ``tc`` can write: times in microseconds, whole multiples."""
    ((kind, declared),) = (parameter.tc or {}).items()
    if kind == "flag":
        return st.booleans()
    if kind == "name":
        return st.sampled_from([choice["const"] for choice in parameter.schema["oneOf"]])
    if kind in ("choice", "kind"):
        return st.sampled_from([name for name, _ in declared])
    if kind == "multiple":
        return st.integers(1, 32).map(lambda number: number / declared[1])
    whole = {
        values.TIME: st.integers(10_000, 900_000).map(lambda time: f"{time} us"),
        values.RATE: st.integers(1_000, 10**10).map(lambda rate: f"{rate} bit/s"),
        values.SIZE: st.integers(64, 200).map(lambda size: f"{size} B"),
        values.LIMIT: st.integers(2, 5_000).map(lambda limit: f"{limit} packets"),
    }
    if parameter.name in ("memlimit", "memory_limit"):
        return st.integers(4_096, 10**9).map(lambda size: f"{size} B")
    # The bins of sfb are at least as large as their target, and it warms up before its hash changes.
    own = {
        "max": st.integers(20, 60),
        "increment": st.sampled_from([0.001, 0.25]),
        "decrement": st.sampled_from([0.001, 0.25]),
        "rehash_interval": st.integers(61_000, 10**6).map(lambda time: f"{time} ms"),
        "warmup_time": st.integers(0, 60_000).map(lambda time: f"{time} ms"),
    }
    if parameter.name in own:
        return own[parameter.name]
    return whole.get(parameter.unit, st.integers(1, 8))


@st.composite
def schemes_of_linux(draw: st.DrawFn) -> str:
    """Draw a scheme of Linux: its own values, and some parameters that it has words for."""
    entry, tc = draw(st.sampled_from([*words.disciplines().values()]))
    own = [parameter for parameter in entry.parameters if parameter.tc is not None]
    chosen = draw(st.lists(st.sampled_from(own), unique_by=lambda parameter: parameter.name))
    parameters = {**dict(tc.values), **{parameter.name: draw(drawn(parameter)) for parameter in chosen}}
    parameters.pop("nat", None)
    if "ce_threshold" not in parameters:
        parameters.pop("ce_threshold_selector", None)
    if entry.name == "sfq" and "flows" in parameters:
        parameters["flows"] = 1 << parameters["flows"]
    if parameters.get("link_layer") == "raw":
        parameters |= {"overhead": "0 B", "ether_vlan": 0}
    if tc.ecn is not None and draw(st.booleans()):
        # The probability from which ECN-capable packets are dropped has no effect then.
        for name in ("mark_ecnth", "ce_threshold", "ce_threshold_selector"):
            parameters.pop(name, None)
        parameters["noecn"] = True
    return schemes.label(lab.Experiment(queue={entry.name: parameters}).queue, ecn=False)


@given(schemes_of_linux())
@example("droptail:limit=64000 B")
@example("cake:variant=linux,overhead=-14 B")
def test_to_tc_and_back_is_the_same_scheme(scheme: str) -> None:
    result = commands(cell(scheme))
    assert [resolved(line.scheme(text)) for text in result.disciplines] == [resolved(scheme)] * 2
    assert not [note for note in result.notes if note.startswith("Linux has in its")]


@given(st.integers(1, 10**15))
def test_quantities_of_tc_keep_their_value(number: int) -> None:
    assert values.written(values.read(f"{number}ns", values.TIME), values.TIME)
    rate = values.read(f"{number}bit", values.RATE)
    assert lab.AccessLink(down=str(rate), up=str(rate), rtt="20 ms").experiment(warmup_s=1, duration_s=1)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("5.0ms", values.TIME, "5 ms"),
        ("999us", values.TIME, "999 us"),
        ("1s", values.TIME, "1 s"),
        ("1Gbit", values.RATE, "1 Gbit/s"),
        ("2mbps", values.RATE, "16 Mbit/s"),
        ("64kibit", values.RATE, "65.536 kbit/s"),
        ("1514b", values.SIZE, "1514 B"),
        ("4Mb", values.SIZE, "4194304 B"),
        ("10%", "percent", 10),
        ("0.16", "Hz", 0.16),
    ],
)
def test_quantities_are_those_of_iproute2(text: str, unit: str, value: object) -> None:
    assert values.read(text, unit) == value


# Commands.

SHAPED = (
    "tc qdisc replace dev {device} root handle 1: htb default 1",
    "tc class add dev {device} parent 1: classid 1:1 htb rate {rate} overhead 24 quantum 1514",
    "tc qdisc add dev {device} parent 1:1 {text}",
)
"""By tc-htb(8): 38 bytes of overhead are 24 beside the header, which the kernel counts itself."""

REDIRECTION = (
    "ip link add name $IFB type ifb",
    "ip link set dev $IFB up",
    "tc qdisc replace dev $WAN handle ffff: ingress",
    "tc filter add dev $WAN parent ffff: matchall action mirred egress redirect dev $IFB",
)
"""By tc-mirred(8): packets from the provider leave an intermediate device."""


@pytest.mark.parametrize(
    ("scheme", "text"),
    [
        ("droptail:limit=1000", "pfifo limit 1000"),
        ("droptail:limit=64000 B", "bfifo limit 64000"),
        ("codel:interval=80ms,target=4ms", "codel target 4ms interval 80ms limit 10000 ecn"),
        (
            "fq_codel",
            "fq_codel flows 1024 quantum 1514 target 5ms interval 100ms drop_batch 64 limit 10240 ecn",
        ),
        ("pie", "pie target 15ms tupdate 15ms alpha 2 beta 20 no_dq_rate_estimator limit 10000 ecn"),
        (
            "fq_pie",
            "fq_pie flows 1024 quantum 1514 target 15ms tupdate 15ms alpha 2 beta 20 ecn_prob 10 no_dq_rate_estimator"
            " limit 10240 ecn",
        ),
        (
            "dualpi2",
            "dualpi2 target 15ms tupdate 16ms alpha 0.16 beta 3.2 coupling_factor 2 step_thresh 1ms min_qlen_step 0"
            " classic_protection 10 drop_on_overload limit 10000",
        ),
    ],
)
def test_a_discipline_is_written_as_its_man_page_has_it(scheme: str, text: str) -> None:
    result = commands(cell(scheme))
    up, down = (
        [shaped.format(device=device, rate=rate, text=text) for shaped in SHAPED]
        for device, rate in (("$WAN", "20mbit"), ("$IFB", "500mbit"))
    )
    assert list(result.lines) == [*up, *REDIRECTION, *down]
    assert result.disciplines == (text, text)


def test_cake_shapes_itself() -> None:
    result = commands(cell("fq_cobalt:quantum=610 B,through_old=never"))
    text = "cake besteffort flows rtt 100ms memlimit 4194304"
    assert result.lines == (
        f"tc qdisc replace dev $WAN root {text} bandwidth 20mbit overhead 38",
        *REDIRECTION,
        f"tc qdisc replace dev $IFB root {text} bandwidth 500mbit overhead 38",
    )
    assert any("only in CAKE" in note for note in result.notes)


@pytest.mark.parametrize(
    ("scheme", "options"),
    [
        ("cake", "bandwidth 20mbit diffserv3 triple-isolate rtt 100ms egress overhead 38 mpu 0 noatm"),
        (
            "cake:bandwidth=18 Mbit/s",
            "bandwidth 18mbit diffserv3 triple-isolate rtt 100ms egress raw overhead 0 mpu 0 noatm",
        ),
        (
            "cake:bandwidth=18 Mbit/s,diffserv=diffserv4,isolation=dual-srchost,link_layer=docsis,rtt=metro",
            "bandwidth 18mbit diffserv4 dual-srchost rtt 10ms egress docsis overhead 18 mpu 64 noatm",
        ),
        (
            "cake:bandwidth=9 Mbit/s,ingress=true,link_layer=pppoe-ptm,ether_vlan=1,memlimit=8 MB",
            "bandwidth 9mbit diffserv3 triple-isolate rtt 100ms ingress pppoe-ptm overhead 30 mpu 0 ptm"
            " ether-vlan memlimit 8000000",
        ),
    ],
)
def test_cake_is_written_in_its_own_words(scheme: str, options: str) -> None:
    result = commands(cell(scheme))
    assert result.lines[0] == f"tc qdisc replace dev $WAN root cake {options}"


def test_red_has_byte_thresholds_for_each_direction() -> None:
    # C = 20e6 / (8 * 1038) packets of 1000 B: min_th = 5 ms C / 2 = 6.02, max_th three times that.
    up, down = (text for text in commands(cell("ared:mean_packet=1000 B")).lines if " red " in text)
    assert " min 6021 max 18064 avpkt 1000 burst " in up
    assert up.endswith(" adaptive probability 0.1 bandwidth 20mbit ecn harddrop")
    # 25 times as much.
    assert " min 150530 max 451590 avpkt 1000 burst " in down


@given(st.floats(1e-6, 0.1), st.floats(1, 2000))
def test_reds_burst_is_the_longest_with_average_below_min_th(weight: float, min_th: float) -> None:
    burst = nearest.burst(weight, min_th)
    assert burst >= min_th
    if burst > math.ceil(min_th) + 1:
        # Floyd and Jacobson (1993): a burst of this length leaves the average at min_th, one more does not.
        average = [n + 1 + ((1 - weight) ** (n + 1) - 1) / weight for n in (burst, burst + 1)]
        assert average[0] < min_th * (1 + 1e-6)
        assert average[1] > min_th * (1 - 1e-6)


def test_what_linux_has_not_has_no_command_and_says_why() -> None:
    result = commands(cell("pi2"))
    assert (result.disciplines, result.lines) == ((), ())
    assert result.notes[0].startswith("Linux has no PI2 of its own")
    assert commands(cell("rem")) == Commands((), (), ("Linux has no rem.",))


def test_notes_name_what_linux_has_otherwise() -> None:
    published, linux = commands(cell("codel")), commands(cell("codel:variant=linux,mtu=1514 B"))
    assert published.notes == ("Linux has in its codel: mtu = 1514 B, sqrt = newton16.",)
    assert linux == Commands(published.disciplines, published.lines, ())
    assert "limit = 1000 packets" in commands(cell("pie:limit=64000 B")).notes[0]


def test_an_idle_cake_gets_the_rate_of_the_link() -> None:
    result = commands(cell("cake"))
    assert "unlimited" not in " ".join(result.lines)
    assert result.disciplines[0].startswith("cake unlimited ")


@pytest.mark.parametrize("candidate", CANDIDATES)
def test_tc_understands_each_command(candidate: str) -> None:
    program = shutil.which("tc")
    if program is None:
        pytest.skip("tc is not installed")
    for text in commands(cell(CANDIDATES[candidate](HOME))).lines:
        # A device that is not there: nothing is changed, but options are read first.
        arguments = shlex.split(text.replace("$WAN", "no-such").replace("$IFB", "no-such"))
        if arguments[0] != "tc":
            continue
        process = subprocess.run([program, *arguments[1:]], capture_output=True, text=True)
        if f'Unknown qdisc "{candidate}"' in process.stderr:
            pytest.skip(f"tc is too old for {candidate}")
        assert 'Cannot find device "no-such"' in process.stderr


# The commands of aqmlab.


def test_tc_prints_the_commands_of_a_scheme(aqmlab: Command) -> None:
    outcome = aqmlab("tc", "codel:target=4 ms")
    assert outcome.out.startswith("codel target 4ms interval 100ms limit 10000 ecn\n\ntc qdisc replace dev $WAN root")
    assert json.loads(aqmlab("tc", "codel:target=4 ms", "--json").out)["disciplines"][0] in outcome.out
    assert aqmlab("tc", "rem").out == "Linux has no rem.\n"


def test_tc_refuses_several_links(aqmlab: Command) -> None:
    links = 'link=[{rate="8 Mbit/s"}, {rate="5 Mbit/s"}]'
    outcome = aqmlab("tc", "codel", "--set", links, "--set", "users.per_side=1")
    assert outcome.err == "aqmlab: tc: needs a spec with one link, got 2\n"


def test_compare_takes_lines_of_tc(aqmlab: Command, tmp_path: Any) -> None:
    (tmp_path / "small.toml").write_text('users.per_side = 2\nprotocol = {warmup = "1 s", duration = "2 s"}')
    given = ["compare", str(tmp_path / "small.toml"), "--seeds", "1", "--no-figures", "--out", str(tmp_path / "out")]
    outcome = aqmlab(*given, "codel", "--tc", "fq_codel limit 1000", "--json")
    assert "fq_codel:variant=linux,mtu=1514 B,memory_limit=33554432 B,limit=1000 packets" in outcome.out
    refused = aqmlab(*given, "--tc", "fq_codel limit")
    assert refused.err == "aqmlab: tc fq_codel: limit: needs a value after it\n"
