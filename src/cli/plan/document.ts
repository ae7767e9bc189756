import type { Settings } from '../../model/settings.js'
import { type Bounds, sumBounds } from './bounds.js'
import type { Forecast } from './forecast.js'
import { forecastHosts } from './hosts.js'

const roundBounds = ({ least, most }: Bounds): Bounds => ({ least: Math.round(least), most: Math.round(most) })

/** A plan as JSON: times in milliseconds, sizes in bytes, `least` and `most` as bounds. */
export const planDocument = (forecast: Forecast, settings: Settings, freeBytes: number | undefined): object => {
  const { asOf, stocks, latency, resume, streams, time, notes } = forecast
  return {
    asOf: new Date(asOf).toISOString(),
    finishedBefore: resume.finishedBefore ?? null,
    continues: resume.continues ?? null,
    stocks: stocks === undefined ? null : { number: stocks.items.length, known: stocks.known },
    latency,
    requests: sumBounds(streams.map(({ requests }) => requests)),
    ms: roundBounds(time),
    bytes: streams.reduce((total, { footprint }) => total + (footprint?.bytes ?? 0), 0),
    freeBytes: freeBytes ?? null,
    streams: streams.map(({ stream: { name, phase }, demand, requests, workers, time: own, perSecond, footprint }) => ({
      ...{ name, phase, items: demand.items, known: demand.known, inPlace: demand.inPlace, requests, workers, ms: roundBounds(own) },
      calls: [...demand.calls].map(([{ name: call, host }, span]) => ({ name: call, service: host, requests: span })),
      limitedTo: perSecond === undefined ? null : perSecond,
      bytes: footprint?.bytes ?? null,
      bytesFrom: footprint?.from ?? null,
    })),
    services: forecastHosts(forecast, settings).map(({ service, at, requests }) => ({ service, at: at ?? null, requests })),
    notes,
  }
}
