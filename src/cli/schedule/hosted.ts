import { quoteShell } from '../../model/text.js'
import { commentEntry, type DailyJob, formatClock, listAttempts, listCommands, toCronTime, toShell } from './job.js'

const OPTIONAL_VARIABLES = ['SCRIPSTREAM_HEADERS', 'SCRIPSTREAM_NOTIFY', 'SCRIPSTREAM_NOTIFY_SECRET']

/** A workflow that keeps the folder in the cache of the host. */
export const githubActions = (given: DailyJob): string => {
  const job = { ...given, out: './data', config: undefined, variables: {}, offsets: [0] }
  const crons = listAttempts(job).map((attempt) => `    - cron: '${toCronTime(attempt)}'\n`)
  const commands = listCommands(job)
  // An entry of the cache is never overwritten: each attempt of a run has its own.
  const key = `'data-\${{ github.run_id }}-\${{ github.run_attempt }}'`
  const exported = job.exportTo === undefined || /^postgres/.test(job.exportTo) ? undefined : job.exportTo.replace(/^(duckdb|parquet):/, '')
  return `# .github/workflows/scripstream.yml, in the default branch of a checkout of scripstream. Times are in UTC.
${commentEntry(job)}# The variables below are secrets of the repository; one that is not set counts as absent. The streams need all but the last ${OPTIONAL_VARIABLES.length}.
# SCRIPSTREAM_HEADERS: headers as a JSON object. SCRIPSTREAM_NOTIFY: an address that is notified of a failure. The job also fails then.
name: scripstream
on:
  schedule:
${crons.join('')}  workflow_dispatch:
# A run waits for the one before, whose state it needs.
concurrency: scripstream
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
      # The newest stored folder: candles continue, and changes are found.
      - uses: actions/cache/restore@v4
        with: { path: data, key: ${key}, restore-keys: data- }
${commands.map((args) => `      - run: ${['node', 'dist/bundle/cli/scripstream.cjs', ...args].map(quoteShell).join(' ')}`).join('\n')}
      # Also after exit 3 (something is missing) and 4 (findings), which end the job.
      - uses: actions/cache/save@v4
        if: always()
        with: { path: data, key: ${key} }
      # The state of the runs is in the hidden folder data/.scripstream.
      - uses: actions/upload-artifact@v4
        if: always()
        with: { name: market, path: ${exported === undefined ? 'data' : `"data\\n${exported}"`}, include-hidden-files: true }
`
}

/** The packages that queries and an export need. */
const listPackages = (target = ''): readonly string[] => [
  '@duckdb/node-api',
  ...(/^postgres/.test(target) ? ['postgres'] : []),
  ...(target.endsWith('.xlsx') ? ['write-excel-file'] : []),
]

/** The owner of the folder on the host writes it, whatever the user of the image is. */
const DOCKER_RUN = 'docker run --rm --user "$(id -u):$(id -g)" -v "$PWD/data:/data"'

/** An image that is built from a checkout. */
export const docker = (given: DailyJob): string => {
  const job = { ...given, out: '/data', config: undefined, variables: {} }
  const times = listAttempts(job).map(formatClock).join(' and ')
  const packages = listPackages(job.exportTo).join(' ')
  const commands = toShell(job, ['scripstream'])
  return `# Dockerfile, in a checkout of scripstream. Build: docker build -t scripstream .
# Create the folder first, or Docker creates it as root: mkdir -p data
# Run as its owner: ${DOCKER_RUN} --env-file provider.env scripstream
# Ask: ${DOCKER_RUN} scripstream scripstream query "select symbol, close_inr from screener limit 5"
# provider.env has one line NAME=value for each of ${job.needed.join(', ')}
# and, if you like, for ${OPTIONAL_VARIABLES.join(', ')} (an address that is notified of a failure), HTTPS_PROXY and NO_PROXY.
# Run it Monday to Friday at ${times} IST from the scheduler of the host.
${commentEntry(job)}FROM node:22-slim AS build
WORKDIR /app
COPY . .
RUN npm ci && npm pack --pack-destination /tmp

FROM node:22-slim
COPY --from=build /tmp/scripstream-*.tgz /tmp/
RUN npm install --global /tmp/scripstream-*.tgz ${packages} && rm /tmp/scripstream-*.tgz && mkdir /data && chown node /data
USER node
WORKDIR /data
ENV SCRIPSTREAM_OUT=/data
CMD ["sh", "-c", "${commands.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"]
`
}
