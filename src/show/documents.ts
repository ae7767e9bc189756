import { omitUndefined } from '../model/row.js'
import { RUN_DAY } from '../tables/views/view.js'
import type { AnnouncementRow, DealRow, DocumentsAnswer, NewsRow, Panel } from './answers.js'
import type { MarketFolder } from './folder.js'
import { describeAbout, readRunFacts } from './freshness.js'
import { toLink } from './stock-tables.js'
import { listOf, NAMES, readAnswer, rowOf } from './tables.js'

interface DayFacts {
  readonly day?: string
  readonly count: number
}

interface DocumentTables {
  readonly filings: readonly AnnouncementRow[]
  readonly news: readonly NewsRow[]
  readonly announcements: readonly AnnouncementRow[]
  readonly deals: readonly DealRow[]
  readonly filingsOf: DayFacts
  readonly newsOf: DayFacts & { readonly sentiments: Readonly<Record<string, number>> }
  readonly announcementsOf: DayFacts
  readonly dealsOf: DayFacts
}

const MAX_SHOWN = 120
const MAX_LISTED = 60
/** Not after the last run: news that the provider dates ahead would hide the others. */
export const isUpToRun = (day: string): string => `${day} <= coalesce(${RUN_DAY}, DATE '9999-12-31')`

/** The rows of the newest day, under the name of their panel. */
const ofNewestDay = (name: string, rows: string): readonly string[] => [
  `all_${name} AS (${rows})`,
  `day_${name} AS MATERIALIZED (SELECT * FROM all_${name} WHERE day = (SELECT max(day) FROM all_${name}))`,
]

const WITH = [
  `names AS ${NAMES}`,
  ...ofNewestDay('filings', `SELECT * FROM filings_unique WHERE ${isUpToRun('day')} AND coalesce(caption, descriptor) IS NOT NULL`),
  ...ofNewestDay(
    'news',
    `SELECT *, coalesce(lower(sentiment), 'unknown') AS tone FROM news_unique WHERE ${isUpToRun('day')} AND title <> ''`,
  ),
  ...ofNewestDay(
    'announcements',
    `SELECT *, CAST(announced_at AS DATE) AS day FROM announcements WHERE ${isUpToRun('CAST(announced_at AS DATE)')}`,
  ),
  ...ofNewestDay('deals', 'SELECT * FROM deals_valued WHERE value_cr IS NOT NULL'),
]

const toTime = (column: string): string => `coalesce(name, '') AS name, strftime(${column}, '%Y-%m-%d %H:%M') AS at`
const daysOf = (name: string): string => rowOf(`SELECT max(day) AS day, count(*) AS count FROM day_${name}`)

const PARTS: Readonly<Record<keyof DocumentTables, string>> = {
  filings: listOf(
    `SELECT symbol, ${toTime('filed_at')}, coalesce(caption, descriptor) AS title, CASE WHEN caption IS NOT NULL AND descriptor <> caption THEN descriptor END AS kind, url
      FROM day_filings LEFT JOIN names USING (symbol) ORDER BY filed_at DESC, symbol LIMIT ${MAX_SHOWN}`,
    'r.at DESC, r.symbol',
  ),
  news: listOf(
    `SELECT symbol, ${toTime('published_at')}, title, tone AS sentiment
      FROM day_news LEFT JOIN names USING (symbol) ORDER BY published_at DESC, symbol LIMIT ${MAX_SHOWN}`,
    'r.at DESC, r.symbol',
  ),
  announcements: listOf(
    `SELECT symbol, ${toTime('announced_at')}, coalesce(event, '') AS title, kind
      FROM day_announcements LEFT JOIN names USING (symbol) ORDER BY announced_at DESC, symbol LIMIT ${MAX_LISTED}`,
    'r.at DESC, r.symbol',
  ),
  deals: listOf(
    `SELECT symbol, coalesce(name, '') AS name, if(name IS NULL, true, NULL) AS "hasNoPage", client, if(side = 'S', 'sold', 'bought') AS side, lower(kind) AS kind, quantity,
      price_inr AS price, value_cr AS "valueCr" FROM day_deals LEFT JOIN names USING (symbol) ORDER BY value_cr DESC, symbol LIMIT ${MAX_LISTED}`,
    'r."valueCr" DESC, r.symbol',
  ),
  filingsOf: daysOf('filings'),
  newsOf: rowOf(`SELECT max(day) AS day, count(*) AS count, coalesce((SELECT json_group_object(tone, stocks) FROM
    (SELECT tone, count(*) AS stocks FROM day_news GROUP BY tone ORDER BY list_position(['negative', 'mixed', 'positive', 'neutral'], tone) NULLS LAST, tone)),
    CAST('{}' AS JSON)) AS sentiments FROM day_news`),
  announcementsOf: daysOf('announcements'),
  dealsOf: daysOf('deals'),
}

/** Filings, news, announcements and deals of the newest day that has some, each document once; the newest of them, or the largest, as rows. */
export const readDocuments = async (folder: MarketFolder): Promise<DocumentsAnswer> => {
  const facts = await readRunFacts(folder)
  const { answer, damage, problem } = await readAnswer<DocumentTables>(folder, PARTS, { with: WITH })
  const panel = <Name extends 'filings' | 'news' | 'announcements' | 'deals'>(
    name: Name,
    stream: string,
  ): Panel<DocumentTables[Name][number]> => {
    const { day, count = 0 } = answer[`${name}Of`] ?? {}
    const about = describeAbout(facts, stream, omitUndefined({ isMissing: count === 0, damage: problem ?? damage.get(name) }))
    return { about: day === undefined ? about : { ...about, day }, rows: answer[name] ?? [], total: count }
  }
  const filings = panel('filings', 'company-filings')
  return {
    filings: { ...filings, rows: filings.rows.map(({ url, ...row }) => omitUndefined({ ...row, url: toLink(url) })) },
    news: panel('news', 'market-news'),
    announcements: panel('announcements', 'new-announcements'),
    deals: panel('deals', 'bulk-block-deals'),
    sentiments: answer.newsOf?.sentiments ?? {},
  }
}
