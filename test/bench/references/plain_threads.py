"""The plain way: one script after the other, a pool of threads for each, a new connection for each request, the same outputs."""

import csv, datetime, json, math, os, resource, sys
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import requests

OUT, AS_OF = sys.argv[1], datetime.datetime.fromisoformat(sys.argv[2])
HEADERS = {"User-Agent": "Mozilla/5.0", "Accept": "application/json, text/plain, */*", "Origin": "http://bench"}
TODAY = AS_OF.date()


def url(host, path):
    return os.environ[f"SCRIPSTREAM_{host.upper()}_URL"] + path


def post(host, path, body, timeout=30):
    answer = requests.post(url(host, path), json=body, headers=HEADERS, timeout=timeout)
    answer.raise_for_status()
    return answer.json()


def get(host, path, timeout=30):
    answer = requests.get(url(host, path), headers=HEADERS, timeout=timeout)
    answer.raise_for_status()
    return answer.text


def write(name, value):
    with open(os.path.join(OUT, name), "w") as file:
        json.dump(value, file)


def pooled(workers, work, items):
    with ThreadPoolExecutor(max_workers=workers) as pool:
        return list(pool.map(work, items))


def scan(fields, params, **more):
    return post("analytics", "/customscan/fetchdt", {"data": {"sort": "Mcap", "sorder": "desc", "fields": fields, "params": params, **more}})["data"]


def equals(field, val):
    return {"field": field, "op": "", "val": val}


def master():
    fields = "Isin DispSym Mcap Pe DivYeild Revenue Year1RevenueGrowth NetProfitMargin YoYLastQtrlyProfitGrowth EBIDTAMargin volume PricePerchng1year Sym Sid FnoFlag".split()
    rows = scan(fields, [equals("OgInst", "ES"), equals("Exch", "NSE")], count=5000, pgno=0)
    stocks = [{"Symbol": r["Sym"], "ISIN": r["Isin"], "Name": r["DispSym"], "Sid": str(r["Sid"]), "FnoFlag": r.get("FnoFlag", 0)} for r in rows]
    write("master_data_response.json", rows)
    write("master_isin_map.json", stocks)
    return stocks


def in_one_file(name, stocks, workers, ask, newest_first=False):
    def rows_of(stock):
        data = ask(stock)["data"] or []
        return [{"Symbol": stock["Symbol"], "ISIN": stock["ISIN"], **row} for row in (data if isinstance(data, list) else [data])]

    rows = [row for rows in pooled(workers, rows_of, stocks) for row in rows]
    if newest_first:
        rows.sort(key=lambda row: row["date"], reverse=True)
    write(name, rows)


def filings(stock):
    body = {"data": {"isin": stock["ISIN"], "pg_no": 1, "count": 100}}
    kept = {}
    for path in ("company_filings", "lodr"):
        for row in post("static", f"/staticscanx/{path}", body, 10)["data"] or []:
            key = row.get("news_id") or f"{row['news_date']}_{row.get('caption') or row.get('descriptor') or 'Unknown'}"
            if key not in kept or (row.get("file_url") and not kept[key].get("file_url")):
                kept[key] = row
    if kept:
        rows = sorted(kept.values(), key=lambda row: row.get("news_date") or "1900-01-01", reverse=True)
        write(f"company_filings/{stock['Symbol']}_filings.json", {"code": 0, "data": rows})


def news(stock):
    body = {"categories": ["ALL"], "page_no": 0, "limit": 50, "first_news_timeStamp": 0, "last_news_timeStamp": 0}
    body |= {"news_feed_type": "live", "stock_list": [stock["ISIN"]], "entity_id": ""}
    items = []
    for row in post("news", "/v2/news/getLiveNews", body, 10)["data"]["latest_news"]:
        said = row["news_object"]
        item = {"Title": said["title"], "Summary": said["text"], "Sentiment": said["overall_sentiment"]}
        items.append({**item, "PublishDate": row["publish_date"], "Source": row["category"]})
    if items:
        write(f"market_news/{stock['Symbol']}_news.json", {"Symbol": stock["Symbol"], "ISIN": stock["ISIN"], "News": items})


def candles(instrument, name):
    body = {**instrument, "EXPCODE": 0, "INTERVAL": "D", "START": 215634600, "END": int(AS_OF.timestamp())}
    data = post("ticks", "/getDataH", body)["data"]
    with open(os.path.join(OUT, "ohlcv_data", f"{name}.csv"), "w", newline="") as file:
        table = csv.DictWriter(file, ["Timestamp", "Open", "High", "Low", "Close", "Volume"], lineterminator="\n")
        table.writeheader()
        for row in zip(*(data[column] for column in ("Time", "o", "h", "l", "c", "v"))):
            table.writerow(dict(zip(table.fieldnames, row)))


def actions():
    for name, op in (("upcoming", "GT"), ("history", "LT")):
        filters = [{"field": "CorpAct.ActDate", "op": op, "val": TODAY.isoformat()}]
        body = {"data": {"type": "full", "whichpage": "corporate_action", "filters": filters, "count": 5000, "page": 1}}
        write(f"{name}_corporate_actions.json", post("analytics", "/customscan/fetchdt", body)["data"])


def surveillance():
    for name in ("asm", "gsm"):
        tab, sheet = os.environ[f"SCRIPSTREAM_{name.upper()}_TAB_ID"], os.environ["SCRIPSTREAM_SHEET_ID"]
        text = get("sheet", f"/spreadsheets/d/{sheet}/gviz/tq?tqx=out:json&gid={tab}", 10)
        rows = json.loads(text[text.index("setResponse(") + 12 : text.rindex(")")])["table"]["rows"]
        cells = [[cell and cell["v"] for cell in row["c"]] for row in rows if len(row["c"]) >= 5]
        write(f"nse_{name}_list.json", [dict(zip(("Symbol", "Name", "ISIN", "Stage"), row[1:])) for row in cells if row[1] not in ("", "Symbol")])


def circuits():
    fields = "Sym DispSym Ltp PPerchange Mcap Volume High5yr Low1Yr High1Yr Pe Pb DivYeild".split()
    for name in ("upper", "lower"):
        params = [equals(f"LiveData.{name.title()}CircuitBreak", "1"), equals("OgInst", "ES"), equals("Seg", "E")]
        write(f"{name}_circuit_stocks.json", scan(fields, params, count=500, pgno=1))


def deals():
    kept = {}
    for chunk in range(3):
        end = TODAY - datetime.timedelta(days=10 * chunk)
        days = {"startdate": f"{end - datetime.timedelta(days=9):%d-%m-%Y}", "enddate": f"{end:%d-%m-%Y}", "defaultpage": "N", "pagecount": 50}
        page, last = 1, 1
        while page <= last:
            answer = post("static", "/staticscanx/deal", {"data": {**days, "pageno": page}}, 10)
            last = math.ceil(answer["totalcount"] / 50)
            kept |= {tuple(row[key] for key in ("sym", "date", "qty", "avgprice", "bs", "cname")): row for row in answer["data"]}
            page += 1
    write("bulk_block_deals.json", sorted(kept.values(), key=lambda row: row["date"], reverse=True))


def bands(name, path):
    for back in range(8):
        day = TODAY - datetime.timedelta(days=back)
        answer = requests.get(url("archive", f"/content/equities/{path}_{day:%d%m%Y}.csv"), headers=HEADERS, timeout=30)
        if answer.status_code == 200:
            return write(name, list(csv.DictReader(answer.text.splitlines(), skipinitialspace=True)))


def indices():
    fields = ["Sym", "DispSym", "Sid", "Exch", "Seg", "Inst", "Open", "High", "Low", "Ltp", "Pchange", "PPerchange", "Volume"]
    data = {"sort": "Sym", "sorder": "asc", "count": 500, "fields": fields, "params": [equals("Inst", "IDX"), equals("Exch", "IDX")], "pgno": 1}
    rows = post("analytics", "/customscan/fetchdt", {"data": data})["data"]
    write("all_indices_list.json", rows)
    return rows


def index_candles(row):
    instrument = {"EXCH": row["Exch"], "SYM": row["Sym"], "SEG": row["Seg"], "INST": row["Inst"], "SEC_ID": str(row["Sid"])}
    candles(instrument, f"indices/{quote(row['Sym'])}-{row['Sid']}")


def stock_candles(stock):
    candles({"EXCH": "NSE", "SYM": stock["Symbol"], "SEG": "E", "INST": "EQUITY", "SEC_ID": stock["Sid"]}, stock["Symbol"])


def indicator(stock):
    body = {"exchange": "NSE", "segment": "E", "security_id": stock["Sid"], "isin": stock["ISIN"], "symbol": stock["Symbol"], "minute": "D"}
    return post("static", "/staticscanx/indicator", body, 10)


for folder in ("company_filings", "market_news", "ohlcv_data/indices"):
    os.makedirs(os.path.join(OUT, folder), exist_ok=True)
stocks = master()
in_one_file("fundamental_data.json", stocks, 20, lambda s: post("fundamental", "/scanx/fundamental", {"data": {"isin": s["ISIN"]}}))
with open(os.path.join(OUT, "nse_equity_list.csv"), "w") as file:
    file.write(get("archive", "/content/equities/EQUITY_L.csv"))
pooled(20, filings, stocks)
in_one_file("all_company_announcements.json", stocks, 40, lambda s: post("static", "/staticscanx/announcements", {"data": {"isin": s["ISIN"]}}, 10), True)
in_one_file("advanced_indicator_data.json", stocks, 50, indicator)
pooled(15, news, stocks)
actions()
surveillance()
circuits()
deals()
bands("incremental_price_bands.json", "eq_band_changes")
bands("complete_price_bands.json", "sec_list")
pooled(15, index_candles, indices())
pooled(15, stock_candles, stocks)
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"cpuMicros": round((used.ru_utime + used.ru_stime) * 1e6), "peakRssBytes": used.ru_maxrss * 1024}))
