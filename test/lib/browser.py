# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that a case drives; runs under the distribution's Python, which has the driver's package.

Rule: the browser has no network: a page that asks for anything but itself is seen in its log, and fails.
"""
import os

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service


TRIES = 3  # to start it: how soon that is done is the machine's affair


def begin(number, width, height):
    options = Options()
    options.binary_location = "/usr/bin/chromium"
    home = os.environ["TMPDIR"]
    for word in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", f"window-size={width},{height}", f"user-data-dir={home}/chromium{number}",
                 "host-resolver-rules=MAP * ~NOTFOUND"):
        options.add_argument("--" + word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)


def start(width, height, is_dark):
    for number in range(TRIES):
        try:
            driver = begin(number, width, height)
            break
        except WebDriverException as failure:
            print(f"the browser did not start: {failure}")
            if number + 1 == TRIES:
                raise
    home = os.environ["TMPDIR"]
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": home})
    # A headless window is at least 500 pixels wide; what the page sees is not.
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}]})
    driver.get("about:blank")
    driver.get_log("performance")  # what the browser's own first page asked for
    return driver


def click(driver, x, y):
    """A real press of the left button at a place of the window."""
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "button": "none" if kind == "mouseMoved" else "left",
                                                            "clickCount": 0 if kind == "mouseMoved" else 1})
