import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CheckedRun, runInTurns, withBench } from '../harness/bench.js'
import { failOn, findWrongFiles, findWrongRequests } from '../harness/check.js'
import { type Context, type Figure, type Measurement, median } from '../harness/figure.js'
import { readOutputs } from '../harness/outputs.js'
import { fixed } from '../provider/conditions.js'
import type { ProviderOptions } from '../provider/provider.js'
import { findMissingDependency, type PlainRun, runPlainThreads } from '../references/plain-threads.js'

/** A certificate for loopback, as text and as a file for the clients. */
const createCertificate = () => {
  const folder = mkdtempSync(join(tmpdir(), 'scripstream-bench-tls-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const names = ['-subj', '/CN=bench', '-addext', 'subjectAltName=IP:127.0.0.1']
  execFileSync('openssl', ['req', ...kind, ...names, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  return {
    key: readFileSync(key, 'utf8'),
    cert: readFileSync(cert, 'utf8'),
    certFile: cert,
    remove: () => rmSync(folder, { recursive: true }),
  }
}

/** Alternating runs of the plain threads program and the product, without provider latency. */
const compare = (context: Context, options: ProviderOptions) =>
  withBench(context, options, ({ provider, run }) =>
    runInTurns<'plain' | 'ours', PlainRun>(context.runs, {
      plain: async () => {
        const out = mkdtempSync(join(context.scratch, 'plain-'))
        const done = await runPlainThreads({ provider, latency: fixed(0), out })
        const wrong = [
          ...findWrongRequests(await provider.stats(), options.stocks),
          ...findWrongFiles(readOutputs(out), options.stocks),
        ]
        failOn(wrong, 'the plain threads program')
        context.say(
          `plain threads: ${(done.wallMs / 1_000).toFixed(2)} s, CPU ${(done.cpuMicros / 1e6).toFixed(2)} s`,
        )
        return done
      },
      ours: (): Promise<CheckedRun> => run({ latency: fixed(0) }),
    }),
  )

type Turns = Awaited<ReturnType<typeof compare>>

const computeRatios = ({ plain, ours }: Turns, of: keyof PlainRun): readonly number[] =>
  plain.map((run, round) => run[of] / (ours[round] as PlainRun)[of])

const skipIfMissing = async (context: Context): Promise<boolean> => {
  const missing = await findMissingDependency()
  if (missing !== undefined) context.say(`skipped: ${missing}`)
  return missing !== undefined
}

/** No latency: only CPU work remains. */
export const plain: Measurement = {
  name: 'plain',
  summary: 'no latency: the plain Python threads program ÷ ours, wall and CPU',
  run: async (context): Promise<readonly Figure[]> => {
    if (await skipIfMissing(context)) return []
    const stocks = context.quick ? 40 : 2_775
    const turns = await compare(context, { stocks })
    const [theirs, ours] = [turns.plain, turns.ours].map((runs) =>
      (median(runs.map(({ wallMs }) => wallMs)) / 1_000).toFixed(1),
    )
    const remark = `${stocks} stocks, ${theirs} s and ${ours} s`
    return [
      {
        name: 'no latency: plain threads program ÷ ours, wall',
        unit: '×',
        values: computeRatios(turns, 'wallMs'),
        goal: 4,
        atLeast: true,
        remark,
      },
      {
        name: 'no latency: plain threads program ÷ ours, CPU',
        unit: '×',
        values: computeRatios(turns, 'cpuMicros'),
        goal: 3,
        atLeast: true,
      },
    ]
  },
}

const ROUND_TRIP_MS = 40

/** A distant provider: each new connection costs two round trips before its request. */
export const far: Measurement = {
  name: 'far',
  summary: `TLS with ${ROUND_TRIP_MS} ms round trips: the plain Python threads program ÷ ours, wall`,
  run: async (context): Promise<readonly Figure[]> => {
    if (await skipIfMissing(context)) return []
    const stocks = context.quick ? 20 : 2_775
    const { remove, ...tls } = createCertificate()
    const turns = await compare(context, { stocks, tls: { ...tls, roundTripMs: ROUND_TRIP_MS } }).finally(
      remove,
    )
    const name = `TLS, ${ROUND_TRIP_MS} ms round trips: plain threads program ÷ ours, wall`
    return [
      {
        name,
        unit: '×',
        values: computeRatios(turns, 'wallMs'),
        goal: 8,
        atLeast: true,
        remark: `${stocks} stocks`,
      },
    ]
  },
}
