const EXTENSION_HEAD = '# Written by an export to zipline, which replaces it.\n'

/**
 * An extension for zipline-reloaded. Without a calendar of its own, a bundle lacks the sessions on weekends;
 * csvdir leaves `pay_date` empty, and zipline pays dividends on that day only.
 */
export const ZIPLINE_EXTENSION = {
  path: 'extension.py',
  header: EXTENSION_HEAD,
  text: `${EXTENSION_HEAD}# The bundle is "scripstream", its calendar "SCRIPSTREAM".
import inspect
from datetime import time
from pathlib import Path
from zoneinfo import ZoneInfo

import pandas as pd
from exchange_calendars import ExchangeCalendar
from zipline.data.bundles import register
from zipline.data.bundles.csvdir import csvdir_equities
from zipline.utils.calendar_utils import register_calendar_type

# zipline runs this file without __file__.
DIR = Path(inspect.currentframe().f_code.co_filename).resolve().parent
SESSIONS = pd.DatetimeIndex(DIR.joinpath('sessions.txt').read_text().split())


class Scripstream(ExchangeCalendar):
    """The days on which the market traded, as the exported folder shows them."""

    name = 'SCRIPSTREAM'
    tz = ZoneInfo('Asia/Kolkata')
    open_times = ((None, time(9, 15)),)
    close_times = ((None, time(15, 30)),)
    weekmask = '1111111'
    adhoc_holidays = list(pd.date_range(SESSIONS[0], SESSIONS[-1]).difference(SESSIONS))

    def __init__(self, start=None, end=None, **options):
        super().__init__(start=SESSIONS[0], end=SESSIONS[-1], **options)


class PaidOnExDate:
    """Dividends without a day of payment are never paid: here it is the ex-date."""

    def __init__(self, writer):
        self.writer = writer

    def write(self, splits, dividends):
        days = {name: dividends['ex_date'] for name in ('declared_date', 'record_date', 'pay_date')}
        self.writer.write(splits=splits, dividends=dividends.assign(**days))


def ingest(environ, assets, minutes, daily, adjustments, *others):
    csvdir_equities(['daily'], str(DIR))(environ, assets, minutes, daily, PaidOnExDate(adjustments), *others)


register_calendar_type('SCRIPSTREAM', Scripstream, force=True)
register('scripstream', ingest, calendar_name='SCRIPSTREAM')
`,
} as const
