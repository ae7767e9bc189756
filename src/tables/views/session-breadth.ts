import { BREADTH_COLUMNS, BREADTH_FIGURES, selectBreadth } from './breadth.js'
import { screener } from './screener/screener.js'
import { changing, col, defineView } from './view.js'

const { sql, needs } = screener.narrow?.((column) => BREADTH_FIGURES.includes(column)) ?? screener

export const sessionBreadth = defineView({
  name: 'session_breadth',
  about:
    'how many stocks rose and fell in the newest session, one row for each universe, and for each sector in it',
  needs: [...needs, 'index_members'],
  columns: [
    // In place of its level and name.
    ...BREADTH_COLUMNS.toSpliced(
      3,
      2,
      col('universe', 'VARCHAR', 'all stocks, F&O, or the index whose members they are'),
      col(
        'sector',
        'VARCHAR',
        'as the provider names it, no sector if it does not; NULL: all of the universe',
      ),
    ),
    changing(col('median_return_1m_pct', 'DOUBLE', 'median return of a calendar month, percent')),
  ],
  with: [
    `universes AS (SELECT isin, 'all stocks' AS universe FROM master UNION SELECT isin, 'F&O' FROM master WHERE fno = 1 UNION SELECT isin, "index" FROM index_members)`,
    `prices AS MATERIALIZED (${sql})`,
    'own AS (SELECT * FROM universes JOIN prices USING (isin) WHERE true)',
  ],
  from: `FROM (${selectBreadth('universe, NULL AS symbol, NULL AS sector', 'own WHERE true')} UNION ALL ${selectBreadth("universe, NULL, coalesce(sector, 'no sector')", 'own WHERE true')})`,
})
