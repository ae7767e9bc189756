import { Subject } from 'rxjs'
import { describe } from 'vitest'
import { whenRoom } from '../../src/operators/when-room.js'
import { itWithMarbles } from '../support/marbles.js'

describe('whenRoom', () => {
  itWithMarbles('begins work at once while there is room', (m) => {
    const work = m.cold('-a|')

    m.expect(work.pipe(whenRoom(() => true, new Subject()))).toBeObservable('-a|')
    m.expect(work).toHaveSubscriptions('^-!')
  })

  itWithMarbles('begins work when there is room again, one for each place', (m) => {
    let free = 0
    const room = m.hot('---1---2--')
    room.subscribe(() => (free += 1))
    const [first, second] = [m.cold('-a|'), m.cold('-b|')]
    const taken = first.pipe(whenRoom(() => free > 0 && free-- > 0, room))
    const other = second.pipe(whenRoom(() => free > 0 && free-- > 0, room))

    m.expect(taken).toBeObservable('----a|')
    m.expect(other).toBeObservable('--------b|')
  })

  itWithMarbles('waits for nothing when it is unsubscribed', (m) => {
    const [work, room] = [m.cold('-a|'), m.hot('-----1')]

    m.expect(work.pipe(whenRoom(() => false, room)), '---!').toBeObservable('-')
    m.expect(room).toHaveSubscriptions('^--!')
    m.expect(work).toHaveSubscriptions([])
  })
})
