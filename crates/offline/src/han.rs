//! Splits Chinese text, which has no spaces, into possible names.
//!
//! There is no full dictionary: a run of Han characters is split at function words, verbs and counters, and each remaining piece
//! counts as a word.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;

use super::scripts::is_ideograph;

/// Maximum number of characters in a marker or in a word that contains one.
const MAX_WORD_CHARS: usize = 5;
/// Maximum number of characters in a word.
const MAX_PIECE_CHARS: usize = 8;
/// The same for a word that ends like the name of a place, organization or event.
const MAX_NAME_CHARS: usize = 18;

/// Minimum number of occurrences of a word in a text.
const MIN_PLACES: usize = 2;

/// Maximum number of characters in a known name that is cut out.
pub(super) const MAX_KNOWN_CHARS: usize = 16;

/// Markers: function words, verbs, counters and pronouns, which are not part of a name.
const MARKERS: &str = "的 了 在 是 和 与 及 也 有 为 以 于 等 不 这 那 我 你 您 他 她 它 们 之 其 而 或 但 就 都 被 把 从 到 \
    对 将 由 该 此 曾 并 则 且 又 还 很 最 更 已 仍 再 均 各 每 某 几 让 使 给 向 往 因 若 虽 却 只 便 即 \
    亦 所 着 过 吗 呢 吧 啊 哪 谁 约 共 获 称 以及 并且 而且 但是 然而 因此 所以 因为 如果 虽然 尽管 不仅 \
    不但 只有 只要 无论 或者 还是 同时 此外 另外 其中 其他 其它 其后 其间 其余 之后 之前 之间 之一 之上 \
    之下 之中 之内 之外 以来 以后 以前 以上 以下 以外 以内 以北 以南 以东 以西 后来 随后 然后 最后 最终 \
    最初 最早 首先 首次 当时 当年 同年 同月 同日 次年 翌年 早年 晚年 晚期 早期 中期 末期 初期 近年 近期 \
    目前 现在 如今 今天 今日 曾经 已经 正在 仍然 一直 一般 通常 往往 主要 大约 大概 全长 总长 全部 总共 \
    总计 合计 左右 期间 时期 时候 年代 世纪 年间 年底 年初 大多 许多 多个 多次 多年 多名 多位 多部 多种 \
    多座 没有 可以 可能 能够 应该 必须 需要 由于 关于 对于 鉴于 至于 基于 等于 终于 根据 按照 依据 通过 \
    经过 经由 为了 随着 除了 作为 一位 一座 一家 一个 一名 一部 一种 一次 一些 一样 一起 一定 一切 一款 \
    一项 一条 一支 一本 一首 一片 两个 这里 那里 哪里 什么 哪个 哪家 哪所 怎么 怎样 如何 为何 多少 何时 \
    何地 是否 自己 人们 他们 她们 它们 我们 你们 本人 某些 这个 那个 这些 那些 该片 该剧 该书 该校 该公司 \
    该市 位于 坐落 地处 成立 建立 创立 创办 创建 设立 开设 组建 组成 执导 主演 出演 饰演 扮演 参演 客串 \
    上映 公映 首映 播出 拍摄 拍成 改编 编写 发表 发布 推出 出生于 出生 生于 诞生 逝世 去世 病逝 病故 卒于 \
    死于 葬于 毕业于 毕业 就读于 就读 考入 进入 加入 参加 参与 担任 出任 历任 曾任 现任 兼任 任职 任命 就任 \
    接任 继任 当选 获得 获奖 荣获 赢得 取得 得到 获颁 成为 称为 称作 认为 视为 誉为 名为 命名 位居 属于 \
    隶属 隶属于 包括 包含 含有 拥有 具有 设有 著有 建有 所有 来自 来到 前往 移居 迁往 迁居 定居 居住 返回 \
    回到 离开 抵达 到达 通车 通往 连接 横跨 跨越 流经 流入 注入 建成 竣工 完成 完工 开工 动工 兴建 修建 \
    建造 建于 始建 重建 扩建 研发 从事 负责 率领 指挥 主持 主管 开始 结束 举行 举办 召开 发生 出现 发现 \
    发明 提出 提供 使用 采用 利用 用于 闻名 著名 知名 有名 驰名 出名 盛产 出产 讲述 描写 描述 叙述 介绍 \
    记载 收录 展出 位列 名列 排名 排行 入选 入围 提名 颁发 授予 签署 签订 宣布 公布 表示 指出 强调 报道 \
    认识 结识 结婚 嫁给 师从 师承 拜师 跟随 任教 执教 讲学 留学 成长 长大 就职 退休 辞职 去职 离职 合并 \
    收购 并购 持有 控制 占领 攻占 攻打 进攻 击败 战胜 打败 爆发 导致 造成 引起 形成 构成 产生 受到 遭到 \
    遭受 决定 希望 支持 反对 帮助 进行 实现 实施 继续 保持 存在 存放 片中 剧中 总部位于 出身 第一 第二 第三 \
    唯一 以其 因其 及其 与其 尤其 其实 极其 分别 共同 相当 非常 十分 特别 比较 直到 直至 截至 至今 迄今 \
    自从 先后 相继 陆续 逐渐 逐步 开业 开幕 导演 编剧 演员 歌手 作家 诗人 画家 教授 博士 院士 校长 院长 \
    市长 省长 总统 主席 总理 部长 局长 会长 董事长 总经理 总裁 首席执行官 创始人 创办人 创立者 设计师 \
    设计者 工程师 建筑师 律师 医生 记者 编辑 制片人 监制 摄影师 作曲家 音乐家 科学家 物理学家 化学家 数学家 \
    历史学家 经济学家 政治家 企业家 商人 艺术家 小说家 文学家 哲学家 思想家 军事家 飞行员 运动员 教练 队长 \
    顾问 员工 职员 先生 女士 小姐 夫人 皇帝 国王 女王 将军 上将 中将 少将 专家 学者 教师 讲师 主任 主编 \
    主教 牧师 法官 检察官 大臣 议员 代表 不断 不再 不得 不会 不能 不要 不同 不少 不足 不论 不管 未能 无法 重新 \
    任何 也许 或许 有些 容易 常常 经常 时常 每周 本周 上周 下周 一周 一张 两张 几张 第三方 官方";

/// Markers before a verb or adjective: the piece behind them is no noun, as in `不断演进` and `可以清洗滤芯`.
const BEFORE_VERBS: &str = "不 也 就 都 很 更 已 仍 再 均 又 还 却 便 即 亦 曾 可以 可能 能够 应该 必须 正在 仍然 一直 往往 通常 曾经 已经 逐渐 逐步 \
    陆续 先后 相继 继续 非常 十分 特别 比较 是否 怎么 怎样 如何 为何 不断 不再 不得 不会 不能 不要 未能 无法 重新";

/// Markers that precede a measure word, and measure words: `这段代码`.
const COUNTING: &str = "这那此每某几一两";
const MEASURES: &str = "个段种行条项些次位块份组类句件张场群批";

/// Last characters of a word that are often separate words: `编译器会`, `模块中`.
const TAILS: [char; 14] =
    ['会', '中', '里', '上', '下', '时', '后', '前', '内', '能', '要', '可', '来', '都'];

/// First characters of a word that often belong to the previous word or are separate words: `种状态`, `想检查`.
const HEADS: [char; 22] = [
    '个', '种', '门', '条', '次', '段', '章', '会', '要', '想', '能', '可', '来', '都', '只', '如', '再',
    '么', '时', '上', '中', '里',
];

/// Characters that join words and rarely begin or end one.
const BINDING: &str = "的了在是和与與及也以于於这這那我你他她它之或但就被把从從到由该該此每一个個种種";

/// Nouns for kinds of things: part of many names, but not names by themselves.
const GENERIC: &str = "公司 企业 总部 城市 城镇 影片 电影 本片 作品 奖项 个人 学校 学生 老师 朋友 同事 家庭 面积 人口 海拔 \
    位置 北方 南方 东方 西方 北部 南部 东部 西部 中部 东北部 东南部 西北部 西南部 境内 地区 附近 一带 \
    电视剧 剧情片 故事 大桥 时间 世界 国家 社会 历史 文化 父母 父亲 母亲 儿子 女儿 妻子 丈夫 兄弟 姐妹 哥哥 \
    弟弟 姐姐 妹妹 祖父 祖母 长子 次子 家乡 故乡 籍贯 祖籍 人士 代表作 出生地 男 女 \
    不过 例如 比如 注意 示例 例子 总结 情况 问题 方式 内容 部分 结果 东西 办法 方面 过程 原因 目的 事情 步骤 章节 本章 本节 小节 \
    上面 下面 前面 后面 意味 任何 尝试 真正 类似 简单 直接 相同 如下 看看 知道 额外 接下来 早些 多细节 展示 讨论 允许 确保 \
    一行 够大 练习 定义 操作 上面代码 下面代码 以上代码 代码中 个字节";

/// Actions, which are markers unless a character of [`OF_BODIES`] follows; then they describe an organization or person.
const ACTIONS: &str = "调用 运行 执行 返回 添加 设计 管理 研究 开发 投资 出版 制作 展览 收藏 应用 工作 生活 生产 发展 建设 销售 经营 教育 服务 合作 发行 运输 领导 创作 演出 \
    表演 翻译 训练 统治 学习 考察 调查 测量 规划";
const OF_BODIES: &str = "公集银学大中局所院社室站馆部厂会区师者员家奖法团业性力量人机有股控责基";

/// Words that contain a marker but are not split.
const WHOLE: &str = "有限 有机 有色 有轨 和平 共和 和谐 饱和 温和 中和 大和 和田 仁和 泰和 雍和 颐和 调和 缓和 总和 和歌山 埃及 普及 涉及 波及 \
    也门 华为 行为 以色列 难以 得以 加以 予以 高等 平等 等级 中等 初等 同等 甲等 优等 头等 特等 不丹 不列颠 不锈钢 不动产 不莱梅 那不勒斯 刹那 \
    吉他 王羲之 王献之 顾恺之 祖冲之 张之洞 土耳其 成就 就业 首都 成都 京都 都市 古都 新都 都柏林 都灵 丰都 都督 帝都 故都 都江堰 于都 \
    宜都 花都 从化 到底 对手 对外 对象 对联 对策 对抗 将领 大将 名将 主将 将士 自由 理由 由来 于谦 曾国藩 曾荫权 曾巩 曾母 现存 内在 潜在 实在 \
    的里雅斯特 目的 标的 了解 为难 人为 人才 因素 原因 基因 因特网 便利 即时 即将 着陆 过程 过去 过渡 通过 超过 不过 向量 方向 走向 导向 向往 \
    往来 天使 大使 使馆 使命 使徒 让步 更新 变更 最高 条约 公约 合约 预约 约翰 约克 纽约 约旦 约瑟 共产 共青 公共 共同 共享 共振 获利 \
    名称 称号 简称 对称 各地 几何 几内亚 几率 再生 再版 已知 均衡 平均 人均 北方工业 南方航空 东方明珠 东方航空 南方科技 西方哲学 只读 \
    男子 女子 男性 女性 女神 妇女 少女 男女 美女 儿女 仙女 织女 孙女 处女 女皇 女真 城市大学 地区大学 师范 之江 不周山 都匀 都昌 就地 研究所 \
    研究院 研究生 研究员 导演奖 编剧奖 演员奖 代表团 代表队 代表大会 人民代表大会 作家协会 电影节 电影奖 电影学院 电影公司 电影制片厂 电影院 \
    教练机 学生会 学校长 教师节 运动员村 位置图 个人赛 记者会 记者站 律师事务所 皇帝陵 国王杯 女王大学 将军澳 主席团 主教座堂 牧师座 议员团 公司法 \
    企业法 人口学 城市化 朋友圈 时间机器 世纪大道 世纪公园 成立大会 家庭医生 海和 太和 协和 永和 和县 和政 和静 圣和 义和 同和 人和 祥和 \
    有线 有害 有效 国有 公有 私有 所得税 交易所 派出所 事务所 场所 厕所 诊所 住所 会所 哨所 交换所 托儿所 所罗门 所长 便衣 即墨 更生 最后的";

/// Endings of names of places, organizations and events.
const ENDINGS: &str = "市 省 县 区 州 国 镇 乡 村 山 河 江 湖 海 岛 港 湾 桥 路 街 寺 庙 宫 塔 楼 城 峡 洲 洋 站 厂 矿 局 社 奖 节 赛 杯 党 军 \
    院 馆 校 园 堂 府 部 署 厅 所 店 号 教 派 族 朝 语 报 法 线 机场 大学 学院 中学 小学 学校 公司 集团 银行 战争 战役 事件 运动 条约 协定 王朝 \
    帝国 王国 铁路 公路 大桥 大厦 广场 公园 乐队 剧团 科技 实业 酒业 股份 联盟 组织 计划 工程 中心 草原 高原 平原 盆地 沙漠 半岛 群岛 山脉 运河 \
    水库 隧道 车站 车队 球队 球会 杂志 日报 晚报 出版社 电视台 电台 \
    协会 学会 商会 工会 议会 国会 董事会 理事会 监事会 委员会 组委会 基金会 联合会 大会 教会 研讨会 音乐会 读书会 运动会 奥运会 博览会 世博会";

/// Common nouns that end like such a name.
const COMMON_NOUNS: &str = "方法 办法 做法 想法 看法 说法 写法 用法 语法 算法 玩法 没法 信号 符号 序号 编号 账号 账户 逗号 分区 时区 社区 地区 网站 内部 外部 底部 \
    顶部 全部 局部 社会 机会 任务 路线 曲线 防线 上线 离线 布局 全局 场所 字节 环节 章节 细节 情节";

/// Common words that begin with a surname.
const COMMON_BEGINNINGS: &str = "项目 任务 容器 文件 文档 文章 安全 安装 程序 申请 边框 边界 边缘 金属 谷歌 高级 许多 关键 解决 解析 方法 方式 方便 方案 方向 \
    周围 周刊 左右 简单 明显 成功 支付 管理 路由 单元 游戏 应用 计算 时间";

/// Verbs and adverbs that are in no given name.
const NOT_IN_NAMES: &str = "会都要想去看做放没说才搞到至给读玩越另旨些";

/// Endings of common words that begin like a personal name.
const COMMON_ENDINGS: &str = "性 业 式 率 度 力 化 品 型 类 量 值 层 界 期 代 人 者 员 师 家 学 术 物 地 片 剧 书 系 级 制 权 费 价 额 数 点 面 \
    上 下 中 内 外 里 前 后 时 间 年 月 日 号 车 船 机 器 料 油 气 水 电 色 味 声 音 病 药 酒 茶 饭 菜 肉 鱼 鸟 虫 们 的";

/// First characters of most Chinese names.
const SURNAMES: &str = "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方\
    石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文庞樊兰殷施陶洪翟安颜倪严牛温芦季俞章鲁葛伍韦申尤毕聂焦柳邢岳齐\
    梅莫庄辛管祝左涂谷祁舒耿牟卜詹关苗凌费纪靳盛童甄项曲游阳裴席卫查屈鲍覃霍翁隋植甘景薄柏宁柯阮桂闵解柴华冉房边闫佘骆麦容桑费芮储靳糜井惠";

/// Surnames of two characters.
const LONG_SURNAMES: &str =
    "欧阳 司马 上官 诸葛 司徒 东方 皇甫 尉迟 公孙 慕容 令狐 宇文 长孙 夏侯 轩辕 端木 独孤 南宫 申屠 呼延";

/// Counters and units directly after a number.
const UNITS: &str = "平方公里 平方千米 平方米 立方米 公里 千米 厘米 毫米 公斤 公顷 小时 分钟 世纪 年代 周年 美元 欧元 日元 人次 年 月 日 号 人 名 个 位 座 家 部 届 次 米 万 亿 元 岁 天 周 秒 度 层 条 项 \
    种 册 卷 集 期 吨 克 户 所 间 艘 辆 架 块 篇 首 余 多";

/// Words before a place name, which ends at the next marker.
const BEFORE_PLACES: &str =
    "于 位于 出生于 生于 来自 移居 迁往 迁居 定居 前往 抵达 毕业于 就读于 隶属于 坐落 总部位于 返回";

/// Traditional characters, each followed by the simplified one that the lists use.
const TRADITIONAL: &str = "於于與与為为該该對对將将從从這这個个們们並并還还來来後后會会國国學学業业畢毕參参擔担當当獲获獎奖執执導导創创辦办設设計计師师總总統统經经過过歷历現现發发\
    開开關关連连橫横車车長长東东陳陈張张劉刘楊杨趙赵黃黄吳吴孫孙馬马羅罗鄭郑謝谢韓韩馮冯蕭萧許许鄧邓蘇苏盧卢蔣蒋賈贾閻阎鍾钟湯汤陸陆鄒邹譚谭龍龙萬万錢钱賀贺\
    賴赖龔龚龐庞蘭兰顏颜嚴严蘆芦魯鲁葉叶紀纪費费華华莊庄溫温寧宁電电視视劇剧員员誰谁麼么裡里裏里處处說说講讲記记譽誉稱称屬属隸隶擁拥擴扩區区縣县鎮镇鄉乡島岛\
    灣湾橋桥廟庙宮宫樓楼廠厂礦矿館馆場场團团銀银戰战爭争運运動动條条約约協协議议鐵铁廣广園园樂乐隊队報报黨党軍军廳厅號号語语線线機机構构間间時时雖虽盡尽僅仅\
    無无論论應应須须隨随歸归眾众際际陽阳諸诸職职離离遷迁徑径專专編编寫写攝摄製制監监爾尔薩萨亞亚歲岁億亿幾几兩两雙双層层項项種种";

static SIMPLE: LazyLock<HashMap<char, char>> = LazyLock::new(|| {
    let chars: Vec<char> = TRADITIONAL.chars().filter(|c| !c.is_whitespace()).collect();
    chars.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
});

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| Lexicon {
    markers: MARKERS.split_whitespace().collect(),
    generic: GENERIC.split_whitespace().collect(),
    actions: ACTIONS.split_whitespace().collect(),
    whole: WHOLE.split_whitespace().collect(),
    endings: ENDINGS.split_whitespace().collect(),
    common_endings: COMMON_ENDINGS.split_whitespace().collect(),
    common_nouns: COMMON_NOUNS.split_whitespace().collect(),
    common_beginnings: COMMON_BEGINNINGS.split_whitespace().collect(),
    surnames: SURNAMES.chars().filter(|c| !c.is_whitespace()).collect(),
    long_surnames: LONG_SURNAMES.split_whitespace().collect(),
    units: UNITS.split_whitespace().collect(),
    before_places: BEFORE_PLACES.split_whitespace().collect(),
    before_verbs: BEFORE_VERBS.split_whitespace().collect(),
});

struct Lexicon {
    markers: HashSet<&'static str>,
    generic: HashSet<&'static str>,
    actions: HashSet<&'static str>,
    whole: HashSet<&'static str>,
    endings: HashSet<&'static str>,
    common_endings: HashSet<&'static str>,
    common_nouns: HashSet<&'static str>,
    common_beginnings: HashSet<&'static str>,
    surnames: HashSet<char>,
    long_surnames: HashSet<&'static str>,
    units: HashSet<&'static str>,
    before_places: HashSet<&'static str>,
    before_verbs: HashSet<&'static str>,
}

/// A part of a run that may be a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// Its range in the run, in bytes.
    pub(super) range: Range<usize>,
    /// True if its form marks it as a name.
    pub(super) is_name: bool,
}

/// Returns the possible names in `run`, an unbroken run of Chinese characters, in text order.
///
/// - `counted`: true if a number directly precedes the run, which then begins with its unit.
/// - `known`: names found elsewhere in the text; they are cut out and not returned.
/// - Names are three characters that begin with a surname, and pieces that end like a place or organization.
pub(super) fn pieces(run: &str, counted: bool, known: &HashSet<&str>) -> Vec<Piece> {
    let text = Text::read(run);
    let mut found = Vec::new();
    let mut at = if counted { text.units(0) } else { 0 };
    let mut start = at;
    let mut behind: Option<&str> = None;
    while at < text.chars.len() {
        let length = text.known(at, known);
        if length > 0 {
            text.push(start..at, behind, &mut found);
            (at, start, behind) = (at + length, at + length, None);
            continue;
        }
        let marker = text.longest(at, &LEXICON.markers).max(text.action(at));
        let whole = text.longest(at, &LEXICON.whole);
        let numeral = text.numerals(at).max(text.counting(at));
        if whole > marker {
            at += whole;
        } else if marker > 0 || numeral > 0 {
            text.push(start..at, behind, &mut found);
            behind = (marker > 0).then(|| text.slice(at..at + marker));
            at += marker.max(numeral);
            start = at;
        } else {
            at += 1;
        }
    }
    text.push(start..at, behind, &mut found);
    found
}

/// Returns the range of `piece` without a first or last character that is a separate word: the rest occurs in `text` at least
/// twice as often as `piece`.
pub(super) fn bare(text: &str, piece: &str) -> Range<usize> {
    let stands_alone = |stem: &str, piece: &str| {
        stem.chars().count() >= 2 && text.matches(stem).count() >= 2 * text.matches(piece).count()
    };
    let tail = piece.strip_suffix(TAILS).filter(|stem| stands_alone(stem, piece));
    let piece = tail.unwrap_or(piece);
    let head = piece.strip_prefix(HEADS).filter(|stem| stands_alone(stem, piece));
    let start = head.map_or(0, |stem| piece.len() - stem.len());
    start..piece.len()
}

/// True if a text is a generic noun or verb, such as `示例`, or refers to another part of the text.
pub(super) fn is_generic(text: &str) -> bool {
    // `上面代码中` refers to a part of the text.
    const POINTERS: [&str; 8] = ["上面", "下面", "上述", "下述", "如下", "下列", "上文", "下文"];
    LEXICON.generic.contains(text)
        || LEXICON.actions.contains(text)
        || POINTERS.iter().any(|pointer| text.starts_with(pointer))
}

/// True if a Chinese text begins with a function word: `在函数签名中` is not a name.
pub(super) fn begins_bound(text: &str) -> bool {
    const BINDS: [&str; 19] = [
        "在",
        "从",
        "对",
        "将",
        "把",
        "用",
        "使用",
        "如何",
        "怎么",
        "怎样",
        "为什么",
        "为何",
        "什么是",
        "通过",
        "关于",
        "当",
        "与",
        "和",
        "利用",
    ];
    const WHOLE: [&str; 5] = ["对象", "将军", "从业", "和平", "用户"];
    BINDS.iter().any(|word| text.starts_with(word)) && !WHOLE.iter().any(|word| text.starts_with(word))
}

/// True if a character is a common Chinese surname.
pub(super) fn is_surname(c: char) -> bool {
    SURNAMES.contains(c)
}

/// True if `piece` is a word of `text`: it occurs at least [`MIN_PLACES`] times, and not always within the same longer word.
///
/// On each side, one occurrence must be next to a mark or a function character, or the neighbouring characters must differ.
pub(super) fn is_word(text: &str, piece: &str) -> bool {
    if !piece.starts_with(is_ideograph) {
        return true;
    }
    let places: Vec<usize> = text.match_indices(piece).map(|(at, _)| at).collect();
    let is_free = |neighbours: Vec<Option<char>>| {
        let bound = |c: &Option<char>| c.is_some_and(|c| is_ideograph(c) && !BINDING.contains(c));
        neighbours.iter().any(|c| !bound(c) || *c != neighbours[0])
    };
    places.len() >= MIN_PLACES
        && is_free(places.iter().map(|&at| text[..at].chars().next_back()).collect())
        && is_free(places.iter().map(|&at| text[at + piece.len()..].chars().next()).collect())
}

/// A run by characters, with a simplified copy for lookup.
struct Text<'a> {
    run: &'a str,
    /// Offset of each character, and of the end.
    places: Vec<usize>,
    simple: String,
    chars: Vec<char>,
    simple_places: Vec<usize>,
}

impl<'a> Text<'a> {
    fn read(run: &'a str) -> Self {
        let chars: Vec<char> = run.chars().map(|c| SIMPLE.get(&c).copied().unwrap_or(c)).collect();
        let simple: String = chars.iter().collect();
        let places = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
        let simple_places = simple.char_indices().map(|(at, _)| at).chain([simple.len()]).collect();
        Self { run, places, simple, chars, simple_places }
    }

    /// Returns a range of the simplified characters.
    fn slice(&self, range: Range<usize>) -> &str {
        &self.simple[self.simple_places[range.start]..self.simple_places[range.end]]
    }

    /// Returns the number of characters of the longest of `words` that begins at `at`; 0 if none does.
    fn longest(&self, at: usize, words: &HashSet<&str>) -> usize {
        let longest = MAX_WORD_CHARS.min(self.chars.len() - at);
        (1..=longest).rev().find(|length| words.contains(self.slice(at..at + length))).unwrap_or(0)
    }

    /// Returns the number of characters of an action at `at`; 0 if it is part of the name of an organization or person.
    fn action(&self, at: usize) -> usize {
        let length = self.longest(at, &LEXICON.actions);
        let next = self.chars.get(at + length);
        if next.is_some_and(|next| OF_BODIES.contains(*next)) { 0 } else { length }
    }

    /// Returns the number of characters of the longest known name at `at`; 0 if there is none.
    fn known(&self, at: usize, known: &HashSet<&str>) -> usize {
        let longest = if known.is_empty() { 0 } else { MAX_KNOWN_CHARS.min(self.chars.len() - at) };
        let name = |length: &usize| known.contains(&self.run[self.places[at]..self.places[at + length]]);
        (1..=longest).rev().find(name).unwrap_or(0)
    }

    /// Returns the end of the units at `at`, which belong to a number.
    fn units(&self, at: usize) -> usize {
        let mut end = at;
        loop {
            match self.longest(end, &LEXICON.units) {
                0 => return end,
                length => end += length,
            }
        }
    }

    /// Returns the number of characters of a number of several numerals at `at`, with its units; 0 if there is none.
    fn numerals(&self, at: usize) -> usize {
        let is_numeral = |c: &&char| "〇零一二三四五六七八九十百千万亿两".contains(**c);
        let count = self.chars[at..].iter().take_while(is_numeral).count();
        if count < 2 { 0 } else { self.units(at + count) - at }
    }

    /// Returns the number of characters of one numeral and its measure word at `at` if the counted noun follows: `三种状态`.
    fn counting(&self, at: usize) -> usize {
        let [numeral, measure, rest @ ..] = &self.chars[at..] else { return 0 };
        let counts = "二三四五六七八九十".contains(*numeral) && MEASURES.contains(*measure);
        if counts && rest.len() >= 2 { 2 } else { 0 }
    }

    fn ends_with_any(&self, range: &Range<usize>, endings: &HashSet<&str>) -> bool {
        let longest = MAX_WORD_CHARS.min(range.len().saturating_sub(1));
        (1..=longest).any(|length| endings.contains(self.slice(range.end - length..range.end)))
    }

    /// True if these characters look like a Chinese personal name.
    fn is_person(&self, range: &Range<usize>) -> bool {
        let long =
            range.len() >= 3 && LEXICON.long_surnames.contains(self.slice(range.start..range.start + 2));
        let short = LEXICON.surnames.contains(&self.chars[range.start]);
        let is_common = || {
            self.ends_with_any(range, &LEXICON.common_endings)
                || LEXICON.common_beginnings.contains(self.slice(range.start..range.start + 2))
                || self.chars[range.clone()].iter().any(|c| NOT_IN_NAMES.contains(*c))
        };
        (long && range.len() <= 4) || (short && range.len() == 3 && !is_common())
    }

    fn push(&self, range: Range<usize>, behind: Option<&str>, found: &mut Vec<Piece>) {
        if range.len() < 2 {
            return;
        }
        let mut start = range.start;
        let counted = behind.is_some_and(|word| COUNTING.contains(word)) && range.len() > 2;
        start += usize::from(counted && MEASURES.contains(self.chars[start]));
        for at in range.start + 2..range.end.saturating_sub(1) {
            // `浙江省杭州市` is two places; `市长` is none.
            let divides = matches!(self.chars[at], '省' | '市' | '县');
            let goes_on = "长委会场民区府立政级内属价值面境外中辖镇图人略去".contains(self.chars[at + 1]);
            if divides && !goes_on && at >= start + 2 {
                found.push(Piece { range: self.places[start]..self.places[at + 1], is_name: true });
                start = at + 1;
            }
        }
        let range = start..range.end;
        if range.len() < 2 || LEXICON.generic.contains(self.slice(range.clone())) {
            return;
        }
        let ends = range.len() >= 3
            && self.ends_with_any(&range, &LEXICON.endings)
            && !self.ends_with_any(&range, &LEXICON.common_nouns);
        let is_place = behind.is_some_and(|word| LEXICON.before_places.contains(word)) && range.len() <= 4;
        let is_foreign = self.chars[range.clone()].iter().any(|c| !is_ideograph(*c));
        let is_name = ends || is_place || is_foreign || self.is_person(&range);
        if !is_name && behind.is_some_and(|word| LEXICON.before_verbs.contains(word)) {
            return;
        }
        if range.len() <= if is_name { MAX_NAME_CHARS } else { MAX_PIECE_CHARS } {
            found.push(Piece { range: self.places[range.start]..self.places[range.end], is_name });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_pieces(text: &str, names: &[&str], words: &[&str]) {
        let found = pieces(text, false, &HashSet::new());
        let of = |is_name: bool| -> Vec<&str> {
            found
                .iter()
                .filter(|piece| piece.is_name == is_name)
                .map(|piece| &text[piece.range.clone()])
                .collect()
        };
        assert_eq!((of(true), of(false)), (names.to_vec(), words.to_vec()), "{text}");
    }

    #[test]
    fn a_run_is_cut_at_particles_and_verbs() {
        check_pieces("影片由刘晓梅执导", &["刘晓梅"], &[]);
        check_pieces("刘晓梅晚年担任时光钟表公司的顾问", &["刘晓梅", "时光钟表公司"], &[]);
        check_pieces("该公司成立于深圳", &["深圳"], &[]);
        check_pieces("他毕业于东华理工大学", &["东华理工大学"], &[]);
        check_pieces("由導演孫麗華執導", &["孫麗華"], &[]);
        check_pieces("海宁市位于浙江省北部", &["海宁市", "浙江省"], &[]);
        check_pieces("全长三千二百米", &[], &[]);
        check_pieces("由工程师林书豪设计", &["林书豪"], &[]);
        check_pieces("陈国栋在建筑设计院工作", &["陈国栋", "建筑设计院"], &[]);
    }

    #[test]
    fn common_words_that_look_like_names_are_none() {
        check_pieces("程序都会停止", &[], &["程序"]);
        check_pieces("有些方法", &[], &["方法"]);
        check_pieces("也许想要", &[], &["想要"]);
        check_pieces("他让项目搞大", &[], &["项目搞大"]);
        check_pieces("项目搞", &[], &["项目搞"]);
        check_pieces("任何好处", &[], &["好处"]);
        check_pieces("联合国儿童基金会", &["联合国儿童基金会"], &[]);
    }

    #[test]
    fn text_after_an_adverb_or_a_modal_verb_is_not_a_noun() {
        check_pieces("模型不断演进", &[], &["模型"]);
        check_pieces("因特殊原因无法返校", &[], &["特殊原因"]);
        check_pieces("用户可以清洗滤芯", &[], &["用户"]);
        check_pieces("不同类型", &[], &["类型"]);
        check_pieces("他曾东华理工大学", &["东华理工大学"], &[]);
    }

    #[test]
    fn a_measure_word_is_not_part_of_the_counted_noun() {
        check_pieces("这段代码", &[], &["代码"]);
        check_pieces("这条约", &[], &["条约"]);
        check_pieces("三种状态", &[], &["状态"]);
        check_pieces("五条约", &["五条约"], &[]);
    }

    #[test]
    fn a_word_occurs_twice_and_not_only_inside_a_longer_one() {
        assert!(is_word("缓存的大小。清空缓存。", "缓存"));
        assert!(!is_word("清空缓存。", "缓存"));
        assert!(!is_word("不断演进。又不断演进。", "断演进"));
        let bare = |text: &str, piece: &str| piece[bare(text, piece)].to_owned();
        assert_eq!(bare("编译器会报错。编译器很快。", "编译器会"), "编译器");
        assert_eq!(bare("委员会决定。委员会同意。", "委员会"), "委员会");
        assert_eq!(bare("各种状态。状态很多。", "种状态"), "状态");
        assert_eq!(bare("上海市。去上海市。", "上海市"), "上海市");
        assert_eq!(bare("主线程结束。线程很多，线程很快。", "主线程"), "主线程");
    }

    #[test]
    fn words_that_contain_a_marker_stay_whole() {
        check_pieces("成都和京都都是古都", &[], &["成都", "京都", "古都"]);
        check_pieces("中华人民共和国位于亚洲", &["中华人民共和国", "亚洲"], &[]);
        check_pieces("华为技术有限公司", &["华为技术有限公司"], &[]);
        check_pieces("以色列与土耳其", &[], &["以色列", "土耳其"]);
    }

    #[test]
    fn names_written_with_a_dot_stay_whole() {
        check_pieces("由克里斯托弗·诺兰执导", &["克里斯托弗·诺兰"], &[]);
    }

    #[test]
    fn a_counted_noun_is_not_a_name() {
        let found = pieces("年建成通车", true, &HashSet::new());
        assert_eq!(found, []);
    }

    #[test]
    fn known_names_are_cut_out() {
        let run = "云岭大桥工程浩大";
        let found = pieces(run, false, &HashSet::from(["云岭大桥"]));
        let found: Vec<&str> = found.into_iter().map(|piece| &run[piece.range]).collect();
        assert_eq!(found, ["工程浩大"]);
    }

    proptest! {
        #[test]
        fn pieces_of_any_text_are_in_order_on_character_boundaries(run in "[的于刘晓梅省市长三千年·東\u{20000}]{0,40}", counted in any::<bool>()) {
            let mut end = 0;
            for piece in pieces(&run, counted, &HashSet::from(["晓梅", "刘"])) {
                prop_assert!(piece.range.start >= end && run.get(piece.range.clone()).is_some_and(|part| !part.is_empty()));
                end = piece.range.end;
            }
        }
    }
}
