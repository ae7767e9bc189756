import { omitUndefined } from '../model/row.js'
import { RUN_DAY } from '../tables/views/view.js'
import type { AnnouncementRow, DocumentsAnswer, NewsRow, Panel } from './answers.js'
import type { MarketFolder } from './folder.js'
import { describeAbout, readRunFacts } from './freshness.js'
import { ofDay } from './lists.js'
import { toLink } from './stock-tables.js'
import { listOf, readAnswer, rowOf } from './tables.js'

interface DocumentTables {
  readonly filings: readonly AnnouncementRow[]
  readonly news: readonly NewsRow[]
  readonly filed: { readonly day?: string; readonly count: number }
  readonly published: { readonly day?: string; readonly count: number; readonly sentiments: Readonly<Record<string, number>> }
}

const MAX_SHOWN = 120
/** Not after the last run: news that the provider dates ahead would hide the others. */
export const isUpToRun = (day: string): string => `${day} <= coalesce(${RUN_DAY}, DATE '9999-12-31')`

const WITH = [
  'names AS (SELECT symbol, any_value(name) AS name FROM master GROUP BY symbol)',
  `all_filings AS (SELECT * FROM filings_unique WHERE ${isUpToRun('day')} AND coalesce(caption, descriptor) IS NOT NULL)`,
  'day_filings AS MATERIALIZED (SELECT * FROM all_filings WHERE day = (SELECT max(day) FROM all_filings))',
  `all_news AS (SELECT *, coalesce(lower(sentiment), 'unknown') AS tone FROM news_unique WHERE ${isUpToRun('day')} AND title <> '')`,
  'day_news AS MATERIALIZED (SELECT * FROM all_news WHERE day = (SELECT max(day) FROM all_news))',
]

const AT = "'%Y-%m-%d %H:%M'"

const PARTS: Readonly<Record<keyof DocumentTables, string>> = {
  filings: listOf(
    `SELECT symbol, coalesce(name, '') AS name, strftime(filed_at, ${AT}) AS at, coalesce(caption, descriptor) AS title,
      CASE WHEN caption IS NOT NULL AND descriptor <> caption THEN descriptor END AS kind, url
      FROM day_filings LEFT JOIN names USING (symbol) ORDER BY filed_at DESC, symbol LIMIT ${MAX_SHOWN}`,
    'r.at DESC, r.symbol',
  ),
  news: listOf(
    `SELECT symbol, coalesce(m.name, '') AS name, strftime(published_at, ${AT}) AS at, title, tone AS sentiment
      FROM day_news LEFT JOIN names AS m USING (symbol) ORDER BY published_at DESC, symbol LIMIT ${MAX_SHOWN}`,
    'r.at DESC, r.symbol',
  ),
  filed: rowOf('SELECT max(day) AS day, count(*) AS count FROM day_filings'),
  published: rowOf(`SELECT max(day) AS day, count(*) AS count, coalesce((SELECT json_group_object(tone, stocks) FROM
    (SELECT tone, count(*) AS stocks FROM day_news GROUP BY tone ORDER BY list_position(['negative', 'mixed', 'positive', 'neutral'], tone) NULLS LAST, tone)),
    CAST('{}' AS JSON)) AS sentiments FROM day_news`),
}

/** All filings and news of the newest day, each document once; the newest of them as rows. */
export const readDocuments = async (folder: MarketFolder): Promise<DocumentsAnswer> => {
  const facts = await readRunFacts(folder)
  const { answer, damage, problem } = await readAnswer<DocumentTables>(folder, PARTS, { with: WITH })
  const { filings = [], news = [], filed, published } = answer
  const panel = <R>(
    stream: string,
    table: string,
    rows: readonly R[],
    { day, count = 0 }: { readonly day?: string; readonly count?: number } = {},
  ): Panel<R> => {
    const list = omitUndefined({ isMissing: count === 0, damage: problem ?? damage.get(table) })
    return ofDay({ about: describeAbout(facts, stream, list), rows, total: count }, day)
  }
  return {
    filings: panel(
      'company-filings',
      'filings',
      filings.map(({ url, ...row }) => omitUndefined({ ...row, url: toLink(url) })),
      filed,
    ),
    news: panel('market-news', 'news', news, published),
    sentiments: published?.sentiments ?? {},
  }
}
