import type { ChangeText } from '../model/change.js'
import { type Row, readText } from '../model/row.js'

const nameBand = (band: string): string => (Number(band) > 0 ? `${Number(band)} %` : band.toLowerCase())

/** The same in SQL, of the text of a list. */
export const nameBandSql = (band: string): string =>
  `CASE WHEN TRY_CAST(${band} AS DOUBLE) > 0 THEN printf('%g %%', TRY_CAST(${band} AS DOUBLE)) ELSE lower(${band}) END`

/** Another price band of a security, in words. */
export const describeBandChange = ({ Series }: Row, earlier: unknown, now: unknown): ChangeText => {
  const [series, from, to] = [readText(Series), readText(earlier), readText(now)]
  const detail = `from ${nameBand(from)} to ${nameBand(to)}${series === 'EQ' ? '' : ` (series ${series})`}`
  return { change: 'changed', from, to, detail }
}
