import type { ChangeText } from '../model/change.js'
import { type Row, readText } from '../model/row.js'

const nameBand = (band: string): string => (/^[\d.]+$/.test(band) ? `${band} %` : band.toLowerCase())

/** Another price band of a security, in words. */
export const describeBandChange = ({ Series }: Row, earlier: unknown, now: unknown): ChangeText => {
  const [series, from, to] = [readText(Series), readText(earlier), readText(now)]
  const detail = `from ${nameBand(from)} to ${nameBand(to)}${series === 'EQ' ? '' : ` (series ${series})`}`
  return { change: 'changed', from, to, detail }
}
