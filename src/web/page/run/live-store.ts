import { applyChange, type LiveChange, type LiveRunState } from '../../api/live.js'
import type { FolderState, LiveSnapshot } from '../../api/state.js'
import { followDays } from '../parts/days.js'
import { fetchJson } from '../parts/fetch-json.js'

/** The active run as the page knows it. */
export type LiveStore = ReturnType<typeof openLiveStore>

/**
 * Reads the events of the run. The browser reconnects by itself and names the last event that it had.
 * `onOther` is called when the folder holds other data than at the event before, its run has ended, or the
 * server has ended or is back.
 */
export const openLiveStore = (onChange: () => void, onOther: () => void) => {
  const source = new EventSource('/api/live')
  let run: LiveRunState | null | undefined
  let report: number | null | undefined
  let last: FolderState | undefined
  let isLost = false
  const listen = <T>(type: string, apply: (data: T) => LiveRunState | null | undefined): void =>
    source.addEventListener(type, (event: Event) => {
      run = apply(JSON.parse((event as MessageEvent).data) as T)
      onChange()
    })
  const setLost = (value: boolean): void => {
    if (isLost === value) return
    isLost = value
    onChange()
  }
  listen<LiveSnapshot>('snapshot', (snapshot) => {
    const isOther =
      report !== undefined && (report !== snapshot.report || (isActive(run) && !isActive(snapshot.run)))
    const hadEnded = last !== undefined
    report = snapshot.report
    last = snapshot.state
    if (isOther || hadEnded !== (last !== undefined)) onOther()
    followDays(report)
    markSimulated(snapshot)
    return snapshot.run
  })
  listen<LiveChange>('change', (change) => {
    const next = run && applyChange(run, change)
    if (isActive(run) && !isActive(next)) onOther()
    return next
  })
  source.addEventListener('open', () => setLost(false))
  source.addEventListener('error', () => setLost(true))
  return {
    /** Null without an active run; undefined before the first event. */
    run: () => run,
    /** The run that has not ended. */
    active: () => (isActive(run) ? run : undefined),
    /** How the folder stood when the server ended. */
    last: () => last,
    /** Whether the server cannot be reached at the moment. */
    isLost: () => isLost,
    close: () => source.close(),
  }
}

const isActive = (run: LiveRunState | null | undefined): run is LiveRunState =>
  !!run && run.outcome === undefined

/** Whether data is simulated, as the frame and the commands of the page read it. */
const markSimulated = ({ isSimulated }: Pick<FolderState, 'isSimulated'>): void =>
  void document.documentElement.toggleAttribute('data-simulated', isSimulated)

/** How the folder stands; once the server has ended, how it stood then. */
export const loadState = async (store: LiveStore | undefined, signal: AbortSignal): Promise<FolderState> => {
  const state = store?.last() ?? (await fetchJson<FolderState>('/api/state', { signal }))
  markSimulated(state)
  return state
}
