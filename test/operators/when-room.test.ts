import { Subject } from 'rxjs'
import { describe } from 'vitest'
import { whenRoom } from '../../src/operators/when-room.js'
import { itWithMarbles } from '../support/marbles.js'

describe('whenRoom', () => {
  itWithMarbles('passes a value on at once while there is room', (m) => {
    const source = m.cold('-a-b|')
    const expected = '     -a-b|'

    m.expect(source.pipe(whenRoom(() => true, new Subject()))).toBeObservable(expected)
  })

  itWithMarbles('holds values back until there is room, and completes after them', (m) => {
    let free = 0
    const room = m.hot('----1---2--')
    room.subscribe(() => (free += 1))
    const hasRoom = (): boolean => free > 0
    const taking = whenRoom<string>(hasRoom, room)
    const source = m.cold('-ab|')
    const expected = '     ----(ab|)'

    m.expect(source.pipe(taking)).toBeObservable(expected)
  })

  itWithMarbles('waits for nothing when it is unsubscribed', (m) => {
    const room = m.hot('-----1')

    m.expect(m.cold('-a').pipe(whenRoom(() => false, room)), '---!').toBeObservable('-')
    m.expect(room).toHaveSubscriptions('-^-!')
  })
})
