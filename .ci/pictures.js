import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve as toAbsolute } from 'node:path'
import { chromium } from 'playwright-core'

// Makes the pictures of README.md: `npm run pictures`, or with names, such as `npm run pictures -- terminal`.
// The page needs Chromium and DuckDB.

const FOLDER = 'src/web/screenshots'
const COMMAND = toAbsolute('dist/bundle/cli/scripstream.cjs')

/** What is typed in the recording, and how long its end is shown, in frames. */
const SHOWN = [
  { typed: 'scripstream run --simulate', hold: 12 },
  {
    typed: 'scripstream query "select symbol, close_inr, change_pct from screener order by 3 desc limit 8"',
    hold: 20,
  },
]
const FRAME_MS = 250
/** Of a command that takes longer, frames are left out: the recording has about 20 s. */
const MAX_FRAMES = 36
const SIZE = { columns: 100, rows: 27 }
const CELL = { width: 8.4, height: 18, margin: 16 }

/** Without a terminal, the streams of the command say that they are one. */
const AS_TERMINAL = `data:text/javascript,${encodeURIComponent(
  `for (const stream of [process.stdout, process.stderr]) Object.assign(stream, ${JSON.stringify({ isTTY: true, ...SIZE })}, { getColorDepth: () => 4 })`,
)}`

/** A screen that knows what the command uses: text, line ends, moves up, columns, clearing, and colours. */
const createScreen = () => {
  let lines = [[]]
  let [row, column, style] = [0, 0, '']
  const put = (text) => {
    for (const letter of text) {
      while (lines[row].length < column) lines[row].push({ letter: ' ', style: '' })
      lines[row][column] = { letter, style }
      column += 1
    }
  }
  const control = {
    A: (by) => (row = Math.max(0, row - by)),
    G: (to) => (column = to - 1),
    K: () => (lines[row] = lines[row].slice(0, column)),
  }
  const clearBelow = () => {
    lines[row] = lines[row].slice(0, column)
    lines = lines.slice(0, row + 1)
  }
  const paint = (codes) => {
    for (const code of codes.split(';').map(Number)) style = [0, 22, 39].includes(code) ? '' : `s${code}`
  }
  const write = (output) => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it reads
    for (const [part, numbers, name] of output.matchAll(/\x1b\[([\d;]*)([A-Za-z])|\r|\n|[^\x1b\r\n]+/g)) {
      if (part === '\r') column = 0
      else if (part === '\n') {
        ;[row, column] = [row + 1, 0]
        lines[row] ??= []
      } else if (name === undefined) put(part)
      else if (name === 'm') paint(numbers)
      else if (name === 'J') clearBelow()
      else control[name]?.(Number(numbers || 1))
    }
  }
  return { write, read: () => lines.slice(-SIZE.rows) }
}

/** The screen as it was at each frame, of commands that are typed in a folder. */
const record = async (cwd) => {
  // As a shell finds it: else the screen has the path of this checkout.
  const command = join(cwd, 'scripstream')
  symlinkSync(COMMAND, command)
  const screen = createScreen()
  const frames = []
  const read = () => screen.read().map((line) => [...line])
  for (const { typed, hold } of SHOWN) {
    screen.write(`\x1b[2m$\x1b[22m ${typed}\n`)
    const own = [read()]
    const [, ...args] = typed.match(/"[^"]*"|\S+/g).map((word) => word.replaceAll('"', ''))
    const child = spawn(process.execPath, ['--import', AS_TERMINAL, command, ...args], {
      cwd,
      env: { ...process.env, TERM: 'xterm-256color', LANG: 'C.UTF-8' },
    })
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', screen.write)
    const timer = setInterval(() => own.push(read()), FRAME_MS)
    const code = await new Promise((resolve) => child.on('close', resolve))
    clearInterval(timer)
    if (code !== 0)
      throw new Error(
        `${typed}: exit code ${code}\n${screen
          .read()
          .map((line) => line.map(({ letter }) => letter).join(''))
          .join('\n')}`,
      )
    const step = Math.max(1, own.length / MAX_FRAMES)
    frames.push(
      ...own.filter((_, place) => Math.floor(place / step) > Math.floor((place - 1) / step)),
      ...Array(hold).fill(read()),
    )
    screen.write('\n')
  }
  return frames
}

const escapeXml = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** Cells of one style in turn are one piece. */
const renderLine = (cells) => {
  const pieces = []
  for (const { letter, style } of cells) {
    const last = pieces.at(-1)
    if (last?.style === style) last.text += letter
    else pieces.push({ style, text: letter })
  }
  return pieces
    .map(({ style, text }) =>
      style === '' ? escapeXml(text) : `<tspan class="${style}">${escapeXml(text)}</tspan>`,
    )
    .join('')
}

/**
 * One SVG: the frames stand one below the other, and move past a window. A line that several frames have is
 * written once.
 */
const renderRecording = (frames) => {
  const [width, height] = [
    SIZE.columns * CELL.width + 2 * CELL.margin,
    SIZE.rows * CELL.height + 2 * CELL.margin,
  ]
  const lines = new Map()
  const film = frames.flatMap((frame, place) =>
    frame.flatMap((cells, row) => {
      const line = renderLine(cells).trimEnd()
      if (line === '') return []
      if (!lines.has(line)) lines.set(line, lines.size)
      return [
        `<use href="#l${lines.get(line)}" y="${place * height + CELL.margin + (row + 1) * CELL.height - 5}"/>`,
      ]
    }),
  )
  const end = `translateY(${-(frames.length - 1) * height}px)`
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="A simulated run and a query in a terminal">
<style>
svg { --paper: #fafbfc; --ink: #1b1f24; --soft: #59636e; --ok: #15702a; --run: #0a58a6; --warn: #7a5200; --bad: #b3261e }
@media (prefers-color-scheme: dark) { svg { --paper: #14181d; --ink: #e6e9ed; --soft: #9aa4af; --ok: #6cc070; --run: #6fb0f5; --warn: #e0b04a; --bad: #ff8a80 } }
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: var(--ink); white-space: pre }
.s1 { font-weight: 700 } .s2 { fill: var(--soft) } .s31 { fill: var(--bad) } .s32 { fill: var(--ok) } .s33 { fill: var(--warn) } .s36 { fill: var(--run) }
.film { animation: film ${(frames.length * FRAME_MS) / 1_000}s steps(${frames.length - 1}) infinite }
@keyframes film { to { transform: ${end} } }
@media (prefers-reduced-motion: reduce) { .film { animation: none; transform: ${end} } }
</style>
<defs>${[...lines].map(([line, place]) => `<text id="l${place}" x="${CELL.margin}">${line}</text>`).join('\n')}</defs>
<rect width="100%" height="100%" rx="6" fill="var(--paper)" stroke="var(--soft)" stroke-opacity=".4"/>
<g class="film">${film.join('\n')}</g>
</svg>
`
}

const makeTerminal = async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'pictures-'))
  try {
    writeFileSync(`${FOLDER}/terminal.svg`, renderRecording(await record(cwd)))
  } finally {
    rmSync(cwd, { recursive: true })
  }
}

const run = (args, options = {}) =>
  spawn(process.execPath, [COMMAND, ...args], { stdio: ['ignore', 'pipe', 'inherit'], ...options })

/**
 * A view of the page on a folder with the whole simulated market; `SCRIPSTREAM_PICTURES` names one that is
 * there already.
 */
const makePage = async (names) => {
  const given = process.env.SCRIPSTREAM_PICTURES
  const out = given ?? mkdtempSync(join(tmpdir(), 'pictures-'))
  if (given === undefined)
    await new Promise((resolve) =>
      run(['run', '--simulate=2775', '--out', out, '--progress', 'none']).on('close', resolve),
    )
  const server = run(['serve', '--out', out, '--port', '0'])
  const browser = await chromium.launch({
    executablePath: process.env.SCRIPSTREAM_TEST_BROWSER ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  })
  try {
    const [line] = await new Promise((resolve) =>
      server.stdout.once('data', (data) => resolve([String(data)])),
    )
    const origin = /http:\S+\d/.exec(line)[0]
    for (const name of names) {
      const page = await browser.newPage({ viewport: { width: 1440, height: 720 }, colorScheme: 'light' })
      page.setDefaultTimeout(300_000)
      await page.goto(origin + VIEWS[name])
      await page.waitForLoadState('networkidle')
      const session = await page.context().newCDPSession(page)
      const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 80 })
      writeFileSync(`${FOLDER}/${name}.webp`, Buffer.from(data, 'base64'))
      await page.close()
    }
  } finally {
    await browser.close()
    server.kill()
    if (given === undefined) rmSync(out, { recursive: true })
  }
}

const VIEWS = { market: '/market', stock: '/stock/TCS' }

const wanted = process.argv.slice(2)
const isWanted = (name) => wanted.length === 0 || wanted.includes(name)
if (isWanted('terminal')) await makeTerminal()
const views = Object.keys(VIEWS).filter(isWanted)
if (views.length > 0) await makePage(views)
