import { quoteShell } from '../../model/text.js'
import { padTwo } from '../terminal/format.js'
import { type DailyJob, INDIA_OFFSET_MINUTES, listCommands, SESSIONS, toClock, toShell, toWeekdays } from './job.js'

const OPTIONAL_VARIABLES = ['SCRIPSTREAM_HEADERS', 'SCRIPSTREAM_NOTIFY', 'SCRIPSTREAM_NOTIFY_SECRET']

/** A workflow that keeps the folder in the cache of the host. */
export const githubActions = (job: DailyJob): string => {
  const { hour, minute, dayShift } = toClock(job.minuteOfDay - INDIA_OFFSET_MINUTES)
  const commands = listCommands({ ...job, out: './data', config: undefined })
  const exported = job.exportTo === undefined || /^postgres/.test(job.exportTo) ? undefined : job.exportTo.replace(/^(duckdb|parquet):/, '')
  return `# .github/workflows/scripstream.yml, in a checkout of scripstream. Times are in UTC. ${SESSIONS}
# The variables below are secrets of the repository; one that is not set counts as absent. The streams need all but the last ${OPTIONAL_VARIABLES.length}.
# SCRIPSTREAM_HEADERS: headers as a JSON object. SCRIPSTREAM_NOTIFY: an address that is notified of a failure. The job also fails then.
name: scripstream
on:
  schedule:
    - cron: '${minute} ${hour} * * ${toWeekdays(dayShift).join(',')}'
  workflow_dispatch:
jobs:
  collect:
    runs-on: ubuntu-latest
    timeout-minutes: 120
    env:
${[...job.needed, ...OPTIONAL_VARIABLES].map((name) => `      ${name}: \${{ secrets.${name} }}`).join('\n')}
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-node@v4
        with: { node-version: 22, cache: npm }
      - run: npm ci && npm run build
      # The folder of the day before: candles continue, and changes are found.
      - uses: actions/cache@v4
        with: { path: data, key: 'data-\${{ github.run_id }}', restore-keys: data- }
${commands.map((args) => `      - run: ${['node', 'dist/bundle/cli/scripstream.cjs', ...args].map(quoteShell).join(' ')}`).join('\n')}
      - uses: actions/upload-artifact@v4
        if: always()
        with: { name: market, path: ${exported === undefined ? 'data' : `"data\\n${exported}"`} }
`
}

/** The packages that an export needs. */
const listPackages = (target: string | undefined): readonly string[] => {
  if (target === undefined) return []
  return ['@duckdb/node-api', ...(/^postgres/.test(target) ? ['postgres'] : []), ...(target.endsWith('.xlsx') ? ['write-excel-file'] : [])]
}

/** An image that is built from a checkout. */
export const docker = (job: DailyJob): string => {
  const { hour, minute } = toClock(job.minuteOfDay)
  const packages = listPackages(job.exportTo)
    .map((name) => ` ${name}`)
    .join('')
  const commands = toShell({ ...job, out: '/data', config: undefined, variables: {} }, ['scripstream'])
  return `# Dockerfile, in a checkout of scripstream. Build: docker build -t scripstream .
# Run once: docker run --rm -v "$PWD/data:/data" --env-file provider.env scripstream
# provider.env has one line NAME=value for each of ${job.needed.join(', ')}
# and, if you like, for ${OPTIONAL_VARIABLES.join(', ')} (an address that is notified of a failure), HTTPS_PROXY and NO_PROXY.
# Run it each session after ${padTwo(hour)}:${padTwo(minute)} IST from the scheduler of the host. ${SESSIONS}
FROM node:22-slim AS build
WORKDIR /app
COPY . .
RUN npm ci && npm pack --pack-destination /tmp

FROM node:22-slim
COPY --from=build /tmp/scripstream-*.tgz /tmp/
RUN npm install --global /tmp/scripstream-*.tgz${packages} && rm /tmp/scripstream-*.tgz && mkdir /data && chown node /data
USER node
WORKDIR /data
CMD ["sh", "-c", "${commands.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"]
`
}
