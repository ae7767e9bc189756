// The proof that the simulation finds bugs: node test/simulation/mutations.js [--seeds 1000] [--seed 1]
// [--only journal]. Build first. With --check it only looks whether each bug can be planted. Each planted bug
// gets a copy of dist, and a process that simulates seed after seed until an invariant fails.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

/**
 * `find` occurs once in the file. `days`: what one daily run cannot show. `faults`: those that show it, if it
 * is rare among all.
 */
const mutations = [
  {
    name: 'a journal line is dropped',
    file: 'src/storage/journal.js',
    find: 'return void store.append(line, undefined, done);',
    replace: 'return item.rank === 3 ? done() : void store.append(line, undefined, done);',
  },
  {
    name: 'a file is renamed without fdatasync',
    file: 'src/storage/file-system.js',
    find: 'await disk.fdatasync(fd);\n    return written;',
    replace: 'return written;',
  },
  {
    name: 'the join of candles is off by one',
    file: 'src/market/candle-file.js',
    find: 'cells[0] < from',
    replace: 'cells[0] <= from',
    days: 5,
  },
  {
    name: 'the second pass loses an item',
    file: 'src/engine/branch.js',
    find: 'deferred.splice(0)',
    replace: 'deferred.splice(0).slice(1)',
  },
  {
    name: 'a record of the history is overwritten',
    file: 'src/storage/history/record.js',
    find: 'await disk.rename(join(work, name), toHistoryPath(root, name));',
    replace: `const earlier = records.findLast((one) => one.day === day);
        if (earlier) await disk.rm(toHistoryPath(root, earlier.name), { recursive: true });
        await disk.rename(join(work, name), toHistoryPath(root, name));`,
  },
  {
    name: 'a held host is released early',
    file: 'src/limiter/state.js',
    find: 'if (now >= until && !isProbing)',
    replace: 'if (!isProbing)',
  },
  {
    name: 'a request is not ended at its deadline',
    file: 'src/operators/deadline.js',
    find: '(error) => subscriber.error(error)',
    replace: '() => undefined',
  },
  {
    name: 'a refused answer is stored as an empty list',
    file: 'src/http/answer.js',
    find: '|| !reportsFailure(value))',
    replace: '|| true)',
  },
  {
    name: 'a lock is taken twice',
    file: 'src/storage/lock.js',
    find: 'if (last !== undefined)\n            await rejectIfLive(path, last);',
    replace: '',
  },
  {
    name: "an 'items-deferred' event is lost",
    file: 'src/engine/branch.js',
    find: "run.emit({ type: 'items-deferred', stream: name, items: items.length });",
    replace: '',
  },
  {
    name: 'a temporary file is renamed twice',
    file: 'src/storage/file-system.js',
    find: ': renameOver(temporary, path));',
    replace: ': renameOver(temporary, path).then(() => renameOver(temporary, path)));',
  },
  {
    name: 'an unfinished candle is final from 09:00 on',
    file: 'src/market/update-candles.js',
    find: 'toInstant(toCandleDay(last), findSessionEnd(toCandleDay(last), sessions))',
    replace: "toInstant(toCandleDay(last), '09:00')",
  },
  {
    name: 'of several records of a session the first one answers',
    file: 'src/storage/history/choose.js',
    find: "const LAST_ANSWERS = ['early', 'session'];",
    replace: "const LAST_ANSWERS = ['early'];",
  },
  {
    name: 'the file time of a killed run is believed',
    file: 'src/market/update-candles.js',
    find: 'const asOf = Math.min(tail.asOf, lastRunAsOf);',
    replace: 'const asOf = tail.asOf;',
    days: 5,
  },
  {
    name: 'a run that ends after the session is of its end',
    file: 'src/market/calendar.js',
    find: "return from < toSessionInstant(day, SESSION_END, calendar) ? 'session' : 'final';",
    replace: "return until < toSessionInstant(day, SESSION_END, calendar) ? 'session' : 'final';",
  },
  {
    name: 'an ex-date of today is no action',
    file: 'src/market/price-actions.js',
    find: 'on <= until',
    replace: 'on < until',
    days: 32,
  },
  {
    name: 'the drift of a run that has ended is forgotten',
    file: 'src/engine/earlier-runs.js',
    find: 'if (driftIn(report.drift).some(isSignificant))\n        return false;',
    replace: '',
    faults: 'renamed,not-found',
  },
  {
    name: 'a run before 18:00 is reused after it',
    file: 'src/engine/earlier-runs.js',
    find: '[SESSION_END, PUBLISHED_AT].filter',
    replace: '[SESSION_END].filter',
  },
  {
    name: 'what may lack rows is taken over',
    file: 'src/storage/journal.js',
    find: 'if (line.degraded !== undefined)',
    replace: 'if (line.degraded === true)',
  },
  {
    name: 'stored deals of the last day of a failed chunk are dropped',
    file: 'streams/bulk-block-deals.js',
    find: 'day >= start && day <= end',
    replace: 'day >= start && day < end',
  },
  {
    name: 'a second run of an evening hides from diff what the first one changed',
    file: 'src/storage/previous-outputs.js',
    find: 'savedOn >= session',
    replace: 'savedOn > session',
    days: 5,
  },
]

const HELP =
  'node test/simulation/mutations.js [--seeds 1000] [--seed 1] [--only NAME] [--check]: see the first lines of this file'

const readOptions = () => {
  const texts = {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1000' },
    only: { type: 'string', default: '' },
  }
  try {
    return parseArgs({
      options: {
        ...texts,
        check: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h' },
      },
    }).values
  } catch (error) {
    console.error(`${error.message}\n${HELP}`)
    return process.exit(2)
  }
}

const values = readOptions()
if (values.help) {
  console.log(HELP)
  process.exit()
}
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const SIMULATION = 'test/simulation/main.js'

/** The mutated text of a file. @throws if what it replaces is not there exactly once */
const mutate = ({ name, file, find, replace }) => {
  const parts = readFileSync(join(ROOT, 'dist', file), 'utf8').split(find)
  if (parts.length !== 2)
    throw new Error(`${name}: dist/${file} has ${parts.length - 1} times, not once: ${find}`)
  return parts.join(replace)
}

/** Copies dist with one mutation. */
const plant = (mutation, folder) => {
  cpSync(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true })
  for (const link of ['node_modules', 'package.json']) symlinkSync(join(ROOT, link), join(folder, link))
  mkdirSync(join(folder, dirname(SIMULATION)), { recursive: true })
  cpSync(join(ROOT, SIMULATION), join(folder, SIMULATION))
  writeFileSync(join(folder, 'dist', mutation.file), mutate(mutation))
}

/** Simulates until something fails. Returns nothing if all seeds pass. */
const findBug = (folder, days, faults) => {
  const options = [
    '--seed',
    values.seed,
    '--seeds',
    values.seeds,
    '--days',
    String(days),
    ...(faults ? ['--faults', faults] : []),
  ]
  const { status, stderr } = spawnSync(process.execPath, [SIMULATION, ...options], {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })
  if (status === 0) return undefined
  const [detail, seed, invariant] = /seed (\d+), .*?: it is not true that (.*?): .*/.exec(stderr) ?? []
  const [, seconds] = /^([\d.]+) s CPU$/m.exec(stderr) ?? []
  // A check that reads the history ends with this error itself, before it can say what is not true.
  const [damaged] = /DamagedFileError: .*? is damaged/.exec(stderr) ?? []
  if (damaged) return { seeds: '?', invariant: 'what is stored can be read', seconds: '', detail: damaged }
  if (invariant === undefined || seconds === undefined)
    throw new Error(`the simulation ended otherwise: ${stderr}`)
  return { seeds: Number(seed) - Number(values.seed) + 1, invariant, seconds, detail }
}

const chosen = mutations.filter(({ name }) => name.includes(values.only))
if (chosen.length === 0) {
  console.error(
    `error: --only: no planted bug has "${values.only}" in its name; there are: ${mutations.map(({ name }) => name).join('; ')}`,
  )
  process.exit(2)
}
if (values.check) {
  chosen.forEach(mutate)
  console.log(`planted bugs that have their place in the build: ${chosen.length}`)
  process.exit()
}
console.log('| planted bug | found by | seeds | days | CPU s |\n| --- | --- | --- | --- | --- |')
for (const mutation of chosen) {
  const folder = mkdtempSync(join(tmpdir(), 'scripstream-mutation-'))
  try {
    plant(mutation, folder)
    const tries = mutation.days === undefined ? [1, 5] : [mutation.days]
    let [days, found] = [tries[0]]
    for (days of tries) {
      found = findBug(folder, days, mutation.faults)
      if (found) break
    }
    const { invariant = '**not found**', seeds = values.seeds, seconds = '' } = found ?? {}
    console.log(`| ${mutation.name} | ${invariant} | ${seeds} | ${days} | ${seconds} |`)
    if (found) console.error(`  ${found.detail}`)
    else process.exitCode = 1
  } finally {
    rmSync(folder, { recursive: true })
  }
}
