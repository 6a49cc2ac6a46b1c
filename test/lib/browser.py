# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that a case drives; runs under the distribution's Python, which has the driver's package.

Rule: the browser has no network: a page that asks for anything but itself is seen in its log, and fails.
"""
import os

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service


def start(width, height, is_dark):
    options = Options()
    options.binary_location = "/usr/bin/chromium"
    home = os.environ["TMPDIR"]
    for word in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", f"window-size={width},{height}", f"user-data-dir={home}/chromium",
                 "host-resolver-rules=MAP * ~NOTFOUND", *(["force-dark-mode", "enable-features=WebContentsForceDark"] if is_dark else [])):
        options.add_argument("--" + word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": home})
    driver.get("about:blank")
    driver.get_log("performance")  # what the browser's own first page asked for
    return driver
