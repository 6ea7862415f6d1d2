use tabellion_server::*;
#[tokio::main]
async fn main() {
    let mut args = std::env::args().skip(1);
    let data = args.next().unwrap();
    let listen = args.next().unwrap().parse().unwrap();
    let flags = Flags {
        data: Some(data.into()),
        listen: Some(listen),
        test_clock: args.next().is_some(),
        ..Flags::default()
    };
    let config = Config::load(None, &flags).unwrap();
    let (ready, is_ready) = tokio::sync::oneshot::channel::<Ready>();
    tokio::spawn(async move {
        if let Ok(r) = is_ready.await {
            println!("{}", r.address)
        }
    });
    if let Err(e) = serve(config, Secrets::from_env().unwrap(), ready).await {
        eprintln!("{e}");
        std::process::exit(1)
    }
}
