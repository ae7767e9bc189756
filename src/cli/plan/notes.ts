import { formatBytes, formatCount, formatQuantity } from '../format.js'
import type { LatencyEstimate } from './estimate.js'
import type { Forecast } from './forecast.js'
import type { Worklist } from './items.js'

const LATENCIES: Readonly<Record<LatencyEstimate['from'], string>> = {
  given: 'from --latency',
  'last run': 'measured in the last run',
  simulation: 'of the simulator',
  assumed: 'assumed, no earlier run in the folder; set it with --latency',
}

const TOTAL_NOTE = 'The total is phase 1 stream by stream, then the longest parallel chain.'

/** Explains the figures of a plan, each in a sentence or two. */
export const explainForecast = (forecast: Forecast, free: number | undefined): readonly string[] => {
  const { stocks, latency, resume, streams, notes } = forecast
  return [
    ...(resume.continues === undefined ? [] : [resumeText(forecast)]),
    ...(stocks === undefined ? [] : [`Stocks: ${stocksText(stocks)}`]),
    ...assumedLists(forecast),
    `Time: ${formatCount(latency.ms)} ms per request (${LATENCIES[latency.from]}), divided among the workers. ${TOTAL_NOTE}`,
    ...streams.flatMap(({ stream, perSecond }) =>
      perSecond === undefined
        ? []
        : [`${stream.name} was rate limited in the last run to about ${rateText(perSecond)} requests per second, as in this plan.`],
    ),
    diskText(forecast, free),
    ...(streams.some(({ requests }) => requests.least < requests.most)
      ? ['Ranges: low if every first source answers, high with further days, pages and sources. Retries are not counted.']
      : []),
    ...notes,
  ]
}

const resumeText = ({ resume, streams }: Forecast): string =>
  `Resumes the unfinished run ${resume.continues}: ${formatQuantity(
    streams.reduce((total, { demand }) => total + demand.inPlace, 0),
    'item',
  )} already fetched (--fresh starts from scratch).`

const stocksText = ({ items: { length }, known }: Worklist): string =>
  known === 'stored'
    ? `${formatCount(length)}, from the master list in the folder.`
    : known === 'given'
      ? `${formatCount(length)}, as given; the folder has no master list.`
      : `${formatCount(length)} assumed, the folder has no master list; set the number with --stocks.`

const assumedLists = ({ streams }: Forecast): readonly string[] =>
  streams.flatMap(({ stream: { name, work }, demand: { items, known } }) => {
    if (work.of === undefined || work.of === 'master-data') return []
    if (known === 'assumed') return [`${name}: ${formatCount(items)} items assumed, the folder has no list of ${work.of}.`]
    return known === 'unknown' ? [`${name}: not counted, the folder has no list of ${work.of}.`] : []
  })

const rateText = (perSecond: number): string => (perSecond < 9.95 ? perSecond.toFixed(1) : formatCount(perSecond))

const diskText = ({ streams }: Forecast, free: number | undefined): string => {
  const sources = new Set(streams.flatMap(({ footprint }) => footprint?.from ?? []))
  const needed = streams.reduce((total, { footprint }) => total + (footprint?.bytes ?? 0), 0)
  const measured = ['last run', 'captured'].filter((source) => sources.has(source as 'captured'))
  const from = measured.map((source) => (source === 'captured' ? 'a captured run of the whole market' : 'the last run')).join(' and ')
  const room = free === undefined ? '' : ` ${formatBytes(free)} free${free < needed ? ', which is not enough' : ''}.`
  return `Disk: size of the finished files, based on ${from === '' ? 'no known sizes' : from}.${room}`
}
