import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { expect, it } from 'vitest'
// Our compiler has no API yet; an older one, a dependency of the type checker of the package, has.
import type ts from '../node_modules/@arethetypeswrong/core/node_modules/typescript/lib/typescript.js'

const require = createRequire(import.meta.url)
const typescript = createRequire(require.resolve('@arethetypeswrong/core'))('typescript') as typeof ts

/** What takes a function and, after it, a time limit. */
const TAKE_LIMIT = /^(it(WithMarbles)?|test|describe(InBrowser)?|(before|after)(All|Each)|onTest\w+)$/
/** What takes an object with a time limit, and what sets one. */
const WAIT = /^(poll|waitFor|waitForURL|waitUntil|until)$/
const SET = /^(setDefault(Navigation)?Timeout|setConfig)$/

/** `it` of `it.each(rows)('title', test)`. */
const nameOf = (node: ts.Expression): string => {
  if (typescript.isCallExpression(node) || typescript.isPropertyAccessExpression(node))
    return nameOf(node.expression)
  return typescript.isTaggedTemplateExpression(node) ? nameOf(node.tag) : node.getText()
}

const hasLimit = (node: ts.Node): boolean =>
  typescript.isObjectLiteralExpression(node) &&
  node.properties.some(({ name }) => name?.getText() === 'timeout')

const isLimit = ({ expression, arguments: given }: ts.CallExpression): boolean => {
  const called = typescript.isPropertyAccessExpression(expression)
    ? expression.name.text
    : expression.getText()
  // Its own limit is one second.
  if (/^vi\.wait/.test(expression.getText())) return true
  if (SET.test(called)) return !given.every((one) => one.getText().startsWith('inject('))
  if (WAIT.test(called)) return given.some((one) => hasLimit(one) || typescript.isNumericLiteral(one))
  if (!TAKE_LIMIT.test(nameOf(expression))) return false
  return given.some(hasLimit) || given.slice(0, -1).some(typescript.isFunctionLike)
}

/** Only what looks like a limit is parsed: all tests would take seconds. */
const LOOKS_LIKE_LIMIT = /[tT]imeout\b|setConfig|vi\.wait|wait(For|Until)|\},\s+[\w. *+?:]+,?\s*\)/

/** The time limits that a text gives to single tests, hooks and waits, with their lines. */
const findLimits = (file: string, text: string): readonly string[] => {
  if (!LOOKS_LIKE_LIMIT.test(text)) return []
  const source = typescript.createSourceFile(file, text, typescript.ScriptTarget.ES2022, true)
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (typescript.isCallExpression(node) && isLimit(node))
      found.push(`${file}:${source.getLineAndCharacterOfPosition(node.getEnd()).line + 1}`)
    typescript.forEachChild(node, visit)
  }
  visit(source)
  return found
}

it('no test, hook or wait has a time limit of its own: those of vitest.config.ts are for busy machines', () => {
  const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )
  expect(files.length).toBeGreaterThan(300)
  expect(
    files.flatMap((name) => findLimits(name, readFileSync(`${import.meta.dirname}/${name}`, 'utf8'))),
  ).toEqual([])
})

it.each([
  "it('runs', () => {}, 5_000)",
  "it.skipIf(true).each([1])('runs %i', async () => {}, LONG_MS)",
  "it('runs', { timeout: 5_000 }, () => undefined)",
  'beforeAll(() => {}, 5_000)',
  'await expect.poll(read, { timeout: 5_000 }).toBe(1)',
  'await page.getByText("x").waitFor({ timeout: 5_000 })',
  'page.setDefaultTimeout(5_000)',
  'await vi.waitFor(() => expect(a).toBe(1))',
  'await waitUntil(isReady, 5_000)',
])('sees the limit of %s', (text) => {
  expect(findLimits('a.ts', `\n${text}`)).toEqual(['a.ts:2'])
})

it.each([
  "it('runs', () => undefined)",
  "page.setDefaultTimeout(inject('waitMs'))",
  'expect(run(() => {}, 5_000)).toBe(1)',
])('sees no limit in %s', (text) => {
  expect(findLimits('a.ts', text)).toEqual([])
})
