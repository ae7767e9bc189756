import { type DailyJob, INDIA_OFFSET_MINUTES, listCommands, quote, SESSIONS, toClock, toShell, toWeekdays, twoDigits } from './job.js'

/** A workflow that keeps the folder in the cache of the host. */
export const githubActions = (job: DailyJob): string => {
  const { hour, minute, dayShift } = toClock(job.minuteOfDay - INDIA_OFFSET_MINUTES)
  const commands = listCommands({ ...job, out: './data', config: undefined })
  return `# .github/workflows/scripstream.yml, in a checkout of scripstream. Times are in UTC. ${SESSIONS}
# The addresses of the provider are secrets of the repository; add one line for each that "scripstream doctor" names.
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
      SCRIPSTREAM_NEWS_URL: \${{ secrets.SCRIPSTREAM_NEWS_URL }}
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-node@v4
        with: { node-version: 22, cache: npm }
      - run: npm ci && npm run build
      # The folder of the day before: candles continue, and changes are found.
      - uses: actions/cache@v4
        with: { path: data, key: 'data-\${{ github.run_id }}', restore-keys: data- }
${commands.map((args) => `      - run: ${['node', 'dist/bundle/cli/scripstream.cjs', ...args].map(quote).join(' ')}`).join('\n')}
      - uses: actions/upload-artifact@v4
        if: always()
        with: { name: market, path: data }
`
}

/** An image that is built from a checkout. */
export const docker = (job: DailyJob): string => {
  const { hour, minute } = toClock(job.minuteOfDay)
  const commands = toShell({ ...job, out: '/data', config: undefined }, ['scripstream'])
  return `# Dockerfile, in a checkout of scripstream. Build: docker build -t scripstream .
# Run once, with the addresses of the provider in a file: docker run --rm -v "$PWD/data:/data" --env-file provider.env scripstream
# Run it each session after ${twoDigits(hour)}:${twoDigits(minute)} IST from the scheduler of the host. ${SESSIONS}
FROM node:22-slim AS build
WORKDIR /app
COPY . .
RUN npm ci && npm pack --pack-destination /tmp

FROM node:22-slim
COPY --from=build /tmp/scripstream-*.tgz /tmp/
RUN npm install --global /tmp/scripstream-*.tgz && rm /tmp/scripstream-*.tgz && mkdir /data && chown node /data
USER node
WORKDIR /data
CMD ["sh", "-c", "${commands.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"]
`
}
