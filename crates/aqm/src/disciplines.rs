//! The disciplines, one a file, and their list: the simplest first.

use crate::catalogue::disciplines;

disciplines! {
    droptail: Droptail(DroptailConfig),
    scripted: Scripted(ScriptedConfig),
    red: Red(RedConfig),
    ared: Ared(AredConfig),
    red_star: RedStar(RedStarConfig),
    mimd_red: MimdRed(MimdRedConfig),
    sred: Sred(SredConfig),
    fred: Fred(FredConfig),
    choke: Choke(ChokeConfig),
    pi: Pi(PiConfig),
    rem: Rem(RemConfig),
    blue: Blue(BlueConfig),
    sfb: Sfb(SfbConfig),
    avq: Avq(AvqConfig),
    ldc: Ldc(LdcConfig),
    threshold: Threshold(ThresholdConfig),
    gsp: Gsp(GspConfig),
    codel: Codel(CodelConfig),
    cobalt: Cobalt(CobaltConfig),
    pie: Pie(PieConfig),
    docsis_pie: DocsisPie(DocsisPieConfig),
    pi2: Pi2(Pi2Config),
    sfq: Sfq(SfqConfig),
    fq_codel: FqCodel(FqCodelConfig),
    fq_cobalt: FqCobalt(FqCobaltConfig),
    fq_pie: FqPie(FqPieConfig),
    cake: Cake(CakeConfig),
    dualpi2: Dualpi2(DualPi2Config),
}
