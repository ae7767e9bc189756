import { expect, it } from 'vitest'
import { changeQuery, findView, needsSameData } from '../../../src/web/page/router.js'
import type { AnyView } from '../../../src/web/page/view.js'

const view = (path: string, loadsOn: readonly string[] = []): AnyView =>
  ({
    path,
    loadsOn,
    title: () => path,
    load: () => Promise.resolve(),
    render: () => undefined,
  }) as unknown as AnyView
const views = [view('/'), view('/runs'), view('/runs/:id', ['range'])]
const at = (url: string) => findView(views, new URL(url, 'http://127.0.0.1:4173'))

it.each([
  ['/', '/', {}],
  ['/?a=1', '/', {}],
  ['/runs', '/runs', {}],
  ['/runs/', '/runs', {}],
  ['/runs/r%261', '/runs/:id', { id: 'r&1' }],
  ['/runs/100%', '/runs/:id', { id: '100%' }],
])('%s is the view %s', (url, path, params) => {
  const found = at(url)
  expect([found?.view.path, found?.place.params]).toEqual([path, params])
})

it.each(['/run', '/runs/a/b', '/elsewhere'])('%s is no view', (url) => expect(at(url)).toBeUndefined())

it('loads again for another path and for the keys that a view names, not for others', () => {
  const place = (url: string) => {
    const found = at(url)
    if (found === undefined) throw new Error(`no view: ${url}`)
    return found.place
  }
  const [, , run] = views
  if (run === undefined) throw new Error('no view')
  expect(needsSameData(run, place('/runs/a?sort=x'), place('/runs/a?sort=y'))).toBe(true)
  expect(needsSameData(run, place('/runs/a?range=1'), place('/runs/a?range=2'))).toBe(false)
  expect(needsSameData(run, place('/runs/a'), place('/runs/b'))).toBe(false)
})

it('changes the query string', () => {
  expect(changeQuery(new URLSearchParams('a=1&b=2'), { a: undefined, c: 'x y' })).toBe('?b=2&c=x+y')
  expect(changeQuery(new URLSearchParams('a=1'), { a: undefined })).toBe('')
})
