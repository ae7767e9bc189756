import { SESSION_END } from '../../../model/trading-day.js'
import { BY_RANK } from '../events.js'
import { RUN_DAY, reading, type ScreenerGroup, stringColumn } from '../view.js'
import { change, priceGroup } from './price.js'

/** A larger change, in percent, asks for a reason. */
const LARGE_PCT = 5
const IS_LARGE = `round(abs(${change('close_1', 'close_2')}), 6) > ${LARGE_PCT}`

/** What came after the close moved no price: it comes last. */
const IS_LATE = `coalesce(happened_at > price_day + TIME '${SESSION_END}', e.day > price_day)`

export const reason: ScreenerGroup = {
  title: 'what may explain a large change',
  needs: [...priceGroup.needs, 'events'],
  with: [
    ...priceGroup.with,
    `reason AS (
      SELECT isin, first(concat(kind, strftime(e.day, ' %-d %b'), strftime(happened_at, ' %H:%M'), ': ', title) ORDER BY ${IS_LATE}, ${BY_RANK}) AS reason
      FROM (SELECT isin, price_day, day_2 FROM price WHERE ${IS_LARGE}) JOIN events AS e USING (isin)
      WHERE title <> '' AND e.day BETWEEN day_2 AND coalesce(${RUN_DAY}, price_day) GROUP BY isin
    )`,
  ],
  alias: 'y',
  columns: [
    reading(
      ['price', 'session', 'reason'],
      stringColumn(
        'why',
        `what may explain a change of more than ${LARGE_PCT} % in the newest session: of what happened since the session before, what matters most, or "nothing known"; NULL for a smaller change`,
        `if(is_traded AND ${IS_LARGE}, coalesce(reason, 'nothing known'), NULL)`,
      ),
    ),
  ],
}
