/**
 * The collector, its runs, its telemetry and its settings. Further entry points: `scripstream/define`
 * (streams of your own), `/errors`, `/streams` (built-in streams), `/sinks` (storage), `/operators`,
 * `/analysis` (checks, differences, SQL), `/simulator` (the built-in provider), `/testing` (streams on
 * virtual time), `/fleet` (several machines). This module does not load the last five.
 *
 * @module scripstream
 * @public
 */

export {
  type Collector,
  type CollectorOptions,
  createCollector,
  type RowsOf,
  type StreamOptions,
} from './collector.js'
export { loadSettings } from './config.js'
export type { Follower, LiveRun, Log, Telemetry } from './engine/event-bus.js'
export type { NameOf, Run, RunItem, RunState } from './engine/open-run.js'
export type { Engine } from './engine/run.js'
export type { RunOptions } from './engine/run-options.js'
export { httpTransport } from './http/connections.js'
export type { HttpReply, HttpRequest, Transport } from './http/transport.js'
export type { LimiterStatus } from './limiter/limiter-registry.js'
export type { RunEvent } from './model/event.js'
export type { PublicOutcome } from './model/outcome.js'
export type { RunReport, ScriptReport } from './model/report.js'
export type { Settings, SettingsInput } from './model/settings.js'
export type { WatchChanges } from './tables/changes/signals.js'
export { type Span, spans, type TracingApi } from './telemetry/opentelemetry.js'
export { createMetrics, type Metrics, type MetricsOptions } from './telemetry/prometheus.js'
