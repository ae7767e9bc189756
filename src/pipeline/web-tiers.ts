import { type Observable, switchMap } from 'rxjs'
import { buildIdPage, type webData, type webPage } from '../market/shared-endpoints.js'
import type { Row } from '../model/row.js'
import type { Tier } from '../operators/first-that-answers.js'
import type { Tools } from './define-stream.js'

/** The web site of the provider as second and third source of a list: its data file, then the page. Fetches the build id once per run. */
export const createWebTiers = (
  data: ReturnType<typeof webData>,
  page: ReturnType<typeof webPage>,
  key: string,
  { ask, shared }: Pick<Tools, 'ask' | 'shared'>,
): readonly Tier<readonly Row[]>[] => [
  {
    name: 'web data',
    ask: (): Observable<readonly Row[]> =>
      shared('build id', () => ask(buildIdPage, {}, { failFast: true })).pipe(
        switchMap((buildId) => ask(data, { buildId, key }, { failFast: true })),
      ),
  },
  { name: 'web page', ask: (isLast) => ask(page, { key }, { failFast: !isLast }) },
]
