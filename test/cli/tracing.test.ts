import { expect, it } from 'vitest'
import { findTracesVariable } from '../../src/cli/run/tracing.js'

it.each([
  [{}, undefined],
  [{ OTEL_SERVICE_NAME: 'x' }, undefined],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, undefined],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a' }, 'OTEL_EXPORTER_OTLP_ENDPOINT'],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://a' }, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'],
  [{ OTEL_TRACES_EXPORTER: 'console' }, 'OTEL_TRACES_EXPORTER'],
  [{ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a' }, undefined],
  [{ OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a' }, undefined],
])('%j asks for traces by %s', (env, variable) => expect(findTracesVariable(env)).toBe(variable))
