import { bytes, count, counted } from '../format.js'
import type { Latency } from './estimate.js'
import type { Forecast } from './forecast.js'
import type { Worklist } from './items.js'

const LATENCIES: Readonly<Record<Latency['from'], string>> = {
  given: 'as --latency says',
  'last run': 'as in the last run',
  simulation: 'as the embedded provider takes',
  assumed: 'assumed, for no earlier run in the folder shows it; --latency says another',
}

/** How the figures of a plan come about, each in a sentence or two. */
export const notesOf = (forecast: Forecast, free: number | undefined): readonly string[] => {
  const { stocks, latency, standing, streams, notes } = forecast
  return [
    ...(standing.continues === undefined ? [] : [continued(forecast)]),
    ...(stocks === undefined ? [] : [`Stocks: ${stocksText(stocks)}`]),
    ...assumedLists(forecast),
    `Time: ${count(latency.ms)} ms for a request (${LATENCIES[latency.from]}), shared by the workers. The total is phase 1 step by step, then the longest of what runs side by side.`,
    ...streams.flatMap(({ stream, perSecond }) =>
      perSecond === undefined
        ? []
        : [`${stream.name} was limited in the last run, to about ${rateText(perSecond)} requests a second: so it is here.`],
    ),
    diskText(forecast, free),
    ...(streams.some(({ requests }) => requests.least < requests.most)
      ? [
          'Ranges: the first figure if every first source answers; the other one with further days, pages and sources. What fails is asked again besides.',
        ]
      : []),
    ...notes,
  ]
}

const continued = ({ standing, streams }: Forecast): string =>
  `The unfinished run ${standing.continues} goes on: ${counted(
    streams.reduce((total, { demand }) => total + demand.inPlace, 0),
    'item',
  )} are in place and not asked again (--fresh asks for all).`

const stocksText = ({ items: { length }, known }: Worklist): string =>
  known === 'stored'
    ? `${count(length)}, by the master list in the folder.`
    : known === 'given'
      ? `${count(length)}, as given; the folder holds no master list.`
      : `${count(length)} assumed, for the folder holds no master list; --stocks says another number.`

const assumedLists = ({ streams }: Forecast): readonly string[] =>
  streams.flatMap(({ stream: { name, work }, demand: { items, known } }) => {
    if (work.of === undefined || work.of === 'master-data') return []
    if (known === 'assumed') return [`${name}: ${count(items)} items assumed, for the folder holds no list of ${work.of}.`]
    return known === 'unknown' ? [`${name}: not counted, for the folder holds no list of ${work.of}.`] : []
  })

const rateText = (perSecond: number): string => (perSecond < 9.95 ? perSecond.toFixed(1) : count(perSecond))

const diskText = ({ streams }: Forecast, free: number | undefined): string => {
  const sources = new Set(streams.flatMap(({ footprint }) => footprint?.from ?? []))
  const needed = streams.reduce((total, { footprint }) => total + (footprint?.bytes ?? 0), 0)
  const measured = ['last run', 'captured'].filter((source) => sources.has(source as 'captured'))
  const from = measured.map((source) => (source === 'captured' ? 'a captured evening of the whole market' : 'the last run')).join(' and ')
  const room = free === undefined ? '' : ` ${bytes(free)} are free there${free < needed ? ', which is not enough' : ''}.`
  return `Disk: what the files take once they are in place, by the sizes of ${from === '' ? 'nothing known' : from}.${room}`
}
